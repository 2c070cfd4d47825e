// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OperationTest} from "./OperationTest.sol";
import {vm} from "./Vm.sol";

contract RewriteStormTest is OperationTest {
    uint256 private constant PRESENT = 100; // slots that exist: 0..PRESENT

    function setUp() public {
        storm = vm.deployCode("RewriteStorm.yul:RewriteStorm");
        for (uint256 i = 0; i < PRESENT; i++) {
            vm.store(storm, hashOf(i), bytes32(1_000 + i));
        }
    }

    // A cold SLOAD and a warm SSTORE that changes nothing: 2,100 and 100.
    function test_a_rewrite_of_slots_that_exist_costs_what_is_documented() public {
        pin(abi.encodePacked(SEED, uint256(0)), 0, 2_200, 2_301, 2_356);
    }

    function test_a_rewrite_of_slots_that_do_not_exist_costs_the_same() public {
        pin(abi.encodePacked(SEED, uint256(0)), 5_000, 2_200, 2_301, 2_356);
    }

    function testFuzz_what_was_there_is_returned_and_changed(uint256 change, uint256 count) public {
        count %= PRESENT;
        vm.record();
        uint256 result = run(abi.encodePacked(SEED, change, uint256(0), count));
        (, bytes32[] memory written) = vm.accesses(storm);
        vm.assertEq(written.length, count, "writes: the compiler must not remove them");
        uint256 expected = 0;
        for (uint256 i = 0; i < count; i++) {
            vm.assertEq(uint256(written[i]), uint256(hashOf(i)), "key");
            vm.assertEq(uint256(vm.load(storm, hashOf(i))), (1_000 + i) ^ change, "value");
            expected = digest(expected, 1_000 + i);
        }
        vm.assertEq(result, expected, "result");
    }

    function test_calldata_that_is_not_two_words_and_whole_pairs_reverts() public {
        assertReverts("", "nothing");
        assertReverts(abi.encodePacked(SEED), "no change");
        assertReverts(abi.encodePacked(SEED, uint256(1), uint256(1)), "half a pair");
    }
}
