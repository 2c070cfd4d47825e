// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OperationTest} from "./OperationTest.sol";
import {vm} from "./Vm.sol";

contract AccountStormTest is OperationTest {
    uint256 private constant COUNT = 64; // accounts of each kind
    uint256 private constant CODE_BYTES = 24_576;
    uint256 private constant CONTRACTS = 1_000; // index of the first contract
    uint256 private constant ABSENT = 1_000_000;

    uint256 private constant COLD_GAS = 2_600; // EIP-2929
    uint256 private constant COPY_GAS = 3 * CODE_BYTES / 32;

    function setUp() public {
        storm = vm.deployCode("AccountStorm.yul:AccountStorm");
        for (uint256 i = 0; i < COUNT; i++) {
            vm.deal(accountAt(i), 1 ether + i);
            vm.deal(accountAt(CONTRACTS + i), 1 ether + i);
            vm.etch(accountAt(CONTRACTS + i), codeAt(i));
        }
    }

    /// PUSH8 i, POP, then JUMPDEST to the end.
    function codeAt(uint256 i) private pure returns (bytes memory code) {
        code = new bytes(CODE_BYTES);
        for (uint256 at = 10; at < CODE_BYTES; at++) {
            code[at] = 0x5b;
        }
        code[0] = 0x67;
        code[8] = bytes1(uint8(i));
        code[9] = 0x50;
    }

    function accountAt(uint256 i) private pure returns (address) {
        return address(uint160(uint256(hashOf(i))));
    }

    function head(uint256 op) private pure returns (bytes memory) {
        return abi.encodePacked(SEED, op, CODE_BYTES);
    }

    function test_a_balance_costs_what_is_documented_present_or_not() public {
        pin(head(0), 0, COLD_GAS, COLD_GAS + 80, COLD_GAS + 123);
        pin(head(0), ABSENT, COLD_GAS, COLD_GAS + 80, COLD_GAS + 123);
    }

    function test_size_and_hash_of_code_cost_what_is_documented() public {
        pin(head(1), CONTRACTS, COLD_GAS, COLD_GAS + 80, COLD_GAS + 123);
        pin(head(2), ABSENT, COLD_GAS, COLD_GAS + 80, COLD_GAS + 123);
    }

    function test_a_copy_of_24_kb_costs_what_is_documented() public {
        uint256 gas = COLD_GAS + COPY_GAS;
        pin(head(3), CONTRACTS, gas, gas + 97, gas + 140);
    }

    function test_a_call_that_runs_24_kb_costs_what_is_documented() public {
        uint256 gas = COLD_GAS + 5 + CODE_BYTES - 10;
        pin(head(4), CONTRACTS, gas, gas + 97, gas + 140);
    }

    function test_every_operation_sees_the_account_that_it_is_asked_for() public {
        uint256[5] memory digests;
        for (uint256 i = 0; i < 13; i++) {
            address at = accountAt(CONTRACTS + i);
            bytes memory code = codeAt(i);
            digests[0] = digest(digests[0], at.balance);
            digests[1] = digest(digests[1], at.code.length);
            digests[2] = digest(digests[2], uint256(at.codehash));
            digests[3] = digest(digests[3], uint256(bytes32(code)));
            digests[4] = digest(digests[4], 1);
        }
        for (uint256 op = 0; op < 5; op++) {
            uint256 result = run(ranged(head(op), CONTRACTS, 13));
            vm.assertEq(result, digests[op], "digest");
            // The same indices in two ranges.
            bytes memory data = abi.encodePacked(head(op), CONTRACTS, uint256(5));
            data = abi.encodePacked(data, CONTRACTS + 5, uint256(8));
            vm.assertEq(run(data), digests[op], "digest of two ranges");
        }
    }

    function test_calldata_of_another_form_reverts() public {
        assertReverts("", "nothing");
        assertReverts(abi.encodePacked(SEED), "a word");
        assertReverts(abi.encodePacked(SEED, uint256(0)), "two words");
        assertReverts(abi.encodePacked(SEED, uint256(0), uint256(0), uint256(1)), "half a pair");
        assertReverts(ranged(head(5), 0, 1), "no operation");
    }
}
