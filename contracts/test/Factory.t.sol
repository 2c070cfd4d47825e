// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Factory} from "../src/Factory.sol";
import {vm} from "./Vm.sol";

contract FactoryTest {
    uint256 private constant BYTE_GAS = 200; // of code (EIP-170)
    uint256 private constant REST_GAS_MAX = 12; // init code, copies and memory, a byte
    uint256 private constant BASE_GAS = 32_000 + 22_100; // CREATE2, and the contract's slot
    uint256 private constant BASE_REST_GAS_MAX = 9_000;

    event log_named_uint(string name, uint256 value);

    Factory private factory;

    function setUp() public {
        factory = new Factory();
    }

    /// Creation code of a contract with `padding` bytes more than it needs.
    function code(uint256 padding) private view returns (bytes memory) {
        bytes memory more = new bytes(padding);
        for (uint256 i = 0; i < padding; i++) {
            more[i] = 0x5b;
        }
        return bytes.concat(vm.getCode("out/Deployed.yul/Deployed.json"), more);
    }

    function deploy(uint256 padding) private returns (address deployed, uint256 spent) {
        bytes memory init = code(padding);
        uint256 before = gasleft();
        deployed = factory.deploy(bytes32(padding), init);
        spent = before - gasleft();
    }

    function test_a_deployment_costs_its_bytes_and_little_more() public {
        (address small, uint256 few) = deploy(1_000);
        (address large, uint256 many) = deploy(11_000);
        vm.assertEq(large.code.length - small.code.length, 10_000, "padding is not deployed");
        uint256 spent = (many - few) / 10_000;
        uint256 base = few - small.code.length * spent;
        emit log_named_uint("gas per byte of code", spent);
        emit log_named_uint("gas beside that", base);
        vm.assertGe(spent, BYTE_GAS, "too cheap: code is not deployed");
        vm.assertLe(spent, BYTE_GAS + REST_GAS_MAX, "dearer than documented");
        vm.assertGe(base, BASE_GAS, "too cheap: no contract, or no slot");
        vm.assertLe(base, BASE_GAS + BASE_REST_GAS_MAX, "dearer than documented");
    }

    function test_a_deployed_contract_counts_its_calls_from_one_on() public {
        (address deployed,) = deploy(10);
        for (uint256 number = 2; number < 5; number++) {
            (bool ok, bytes memory output) = deployed.call("");
            vm.assertTrue(ok, "the call failed");
            vm.assertEq(abi.decode(output, (uint256)), number, "number");
        }
        vm.assertEq(uint256(vm.load(deployed, 0)), 4, "slot");
    }

    function test_the_address_follows_from_salt_and_code() public {
        (address deployed,) = deploy(10);
        bytes32 hash = keccak256(
            abi.encodePacked(
                bytes1(0xff), address(factory), bytes32(uint256(10)), keccak256(code(10))
            )
        );
        vm.assertTrue(deployed == address(uint160(uint256(hash))), "address");
        (bool ok,) =
            address(factory).call(abi.encodeCall(Factory.deploy, (bytes32(uint256(10)), code(10))));
        vm.assertTrue(!ok, "deployed twice at one address");
    }
}
