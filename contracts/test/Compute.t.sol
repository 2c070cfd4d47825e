// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Compute} from "../src/Compute.sol";
import {vm} from "./Vm.sol";

contract ComputeTest {
    event log_named_uint(string name, uint256 value);

    Compute private compute;

    function setUp() public {
        compute = new Compute();
    }

    function gasOf(bytes4 selector, uint256 rounds)
        private
        returns (uint256 spent, uint256 result)
    {
        vm.assertTrue(address(compute).code.length > 0, "no code"); // warms the account
        bytes memory input = abi.encodeWithSelector(selector, rounds);
        uint256 before = gasleft();
        (bool ok, bytes memory output) = address(compute).staticcall(input);
        spent = before - gasleft();
        vm.assertTrue(ok, "the call failed");
        result = abi.decode(output, (uint256));
    }

    /// Gas of a round is at least `least` and at most `rest` more, and results differ by rounds.
    function bound(string memory name, bytes4 selector, uint256 least, uint256 rest) private {
        (uint256 few, uint256 first) = gasOf(selector, 10);
        (uint256 many, uint256 second) = gasOf(selector, 30);
        uint256 spent = (many - few) / 20;
        emit log_named_uint(name, spent);
        vm.assertGe(spent, least, "too cheap: a round does not do its work");
        vm.assertLe(spent, least + rest, "dearer than documented");
        vm.assertTrue(first != second && second != 0, "what is computed is not used");
    }

    function test_a_round_of_hash_costs_a_hash_of_4_kib() public {
        bound("gas per hash", Compute.hash.selector, 30 + 128 * 6, 70);
    }

    function test_a_round_of_modexp_costs_the_precompile() public {
        // EIP-7883: 16 for lengths up to 32 bytes, times the 255 bits below the exponent's first.
        bound("gas per modexp", Compute.modexp.selector, 16 * 255, 300);
    }

    function test_a_round_of_pairing_costs_two_pairs_and_a_point() public {
        bound("gas per pairing", Compute.pairing.selector, 45_000 + 2 * 34_000 + 150, 1_500);
    }

    function test_a_round_of_the_loop_costs_four_operations() public {
        bound("gas per loop", Compute.loop.selector, 5 + 3 + 3 + 3, 80);
    }

    function test_a_hash_is_of_what_it_says() public {
        bytes memory block4096 = new bytes(4096);
        address self = address(this);
        assembly { mstore(add(block4096, 32), self) }
        (, uint256 result) = gasOf(Compute.hash.selector, 1);
        vm.assertEq(result, uint256(keccak256(block4096)), "hash");
    }

    function test_a_power_is_of_what_it_says() public {
        // x^(p - 2) is the inverse of x (Fermat).
        (, uint256 inverse) = gasOf(Compute.modexp.selector, 1);
        uint256 modulus = type(uint256).max - 188;
        vm.assertEq(mulmod(inverse, uint160(address(this)), modulus), 1, "inverse");
    }
}
