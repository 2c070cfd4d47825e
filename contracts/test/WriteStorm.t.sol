// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OperationTest} from "./OperationTest.sol";
import {vm} from "./Vm.sol";

contract WriteStormTest is OperationTest {
    uint256 private constant PRESENT = 100; // slots that exist: 0..PRESENT

    function setUp() public {
        storm = vm.deployCode("WriteStorm.yul:WriteStorm");
        for (uint256 i = 0; i < PRESENT; i++) {
            vm.store(storm, hashOf(i), bytes32(i + 1));
        }
    }

    // Osaka: 22,100 for 0 to x; 5,000 for x to y and for x to 0 (EIP-2929, EIP-2200).
    function test_a_create_costs_what_is_documented() public {
        pin(abi.encodePacked(SEED, uint256(7)), 1_000, 22_100, 22_171, 22_211);
    }

    function test_an_update_costs_what_is_documented() public {
        pin(abi.encodePacked(SEED, uint256(777)), 0, 5_000, 5_071, 5_111);
    }

    function test_a_clear_costs_what_is_documented() public {
        pin(abi.encodePacked(SEED, uint256(0)), 0, 5_000, 5_071, 5_111);
    }

    function testFuzz_exactly_the_slots_of_the_ranges_are_written(
        uint256 value,
        uint256 start,
        uint256 count,
        uint256 other
    ) public {
        count %= 3 * BLOCK;
        vm.record();
        bytes memory head = abi.encodePacked(SEED, value);
        (bool ok,) = storm.call(abi.encodePacked(head, start, count, other, uint256(1)));
        vm.assertTrue(ok, "the storm failed");
        (, bytes32[] memory written) = vm.accesses(storm);
        vm.assertEq(written.length, count + 1, "writes");
        for (uint256 i = 0; i < count; i++) {
            unchecked {
                vm.assertEq(uint256(written[i]), uint256(hashOf(start + i)), "key");
            }
            vm.assertEq(uint256(vm.load(storm, written[i])), value, "value");
        }
        vm.assertEq(uint256(written[count]), uint256(hashOf(other)), "key of the second range");
    }

    function test_calldata_that_is_not_two_words_and_whole_pairs_reverts() public {
        assertReverts("", "nothing");
        assertReverts(abi.encodePacked(SEED), "no value");
        assertReverts(abi.encodePacked(SEED, uint256(1), uint256(1)), "half a pair");
        assertReverts(abi.encodePacked(SEED, uint256(1), uint8(0)), "a byte too many");
    }
}
