// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OperationTest} from "./OperationTest.sol";
import {vm} from "./Vm.sol";

contract IndexWriteStormTest is OperationTest {
    uint256 private constant COLD_UPDATE_GAS = 5_000; // Osaka: x to y (EIP-2929, EIP-2200)

    function setUp() public {
        storm = vm.deployCode("IndexWriteStorm.yul:IndexWriteStorm");
        // In a transaction of its own: slots of the test's own would be warm.
        for (uint256 index = 1_000; index < 1_300; index++) {
            vm.store(storm, hashOf(index), bytes32(index));
        }
    }

    /// Seed, value and `count` indices, each the third after the one before.
    function scattered(uint256 start, uint256 count) private pure returns (bytes memory data) {
        data = abi.encodePacked(SEED, uint256(7_777));
        for (uint256 i = 0; i < count; i++) {
            data = abi.encodePacked(data, uint32(start + 3 * i));
        }
    }

    function test_a_slot_costs_a_cold_write_and_a_hash_and_little_more() public {
        gasOf(scattered(1_002, 1)); // memory grows once
        uint256 blocks = gasOf(scattered(1_000, 5 * BLOCK)) - gasOf(scattered(1_150, BLOCK));
        uint256 rest = gasOf(scattered(1_180, BLOCK - 1)) - gasOf(scattered(1_210, 1));
        emit log_named_decimal_uint("gas in blocks", blocks * 100 / (4 * BLOCK), 2);
        emit log_named_decimal_uint("gas in the rest", rest * 100 / (BLOCK - 2), 2);
        vm.assertGe(blocks, 4 * BLOCK * COLD_UPDATE_GAS, "too cheap: not cold, or not made");
        vm.assertLe(blocks, 4 * BLOCK * (COLD_UPDATE_GAS + 78), "dearer than documented");
        vm.assertGe(rest, (BLOCK - 2) * COLD_UPDATE_GAS, "rest too cheap: not cold, or not made");
        vm.assertLe(rest, (BLOCK - 2) * (COLD_UPDATE_GAS + 111), "rest dearer than documented");
    }

    function testFuzz_exactly_the_slots_of_the_indices_are_written(
        uint32[21] memory indices,
        uint256 value
    ) public {
        for (uint256 count = 0; count <= indices.length; count++) {
            bytes memory data = abi.encodePacked(SEED, value);
            for (uint256 i = 0; i < count; i++) {
                data = abi.encodePacked(data, indices[i]);
            }
            vm.record();
            (bool ok, bytes memory result) = storm.call(data);
            vm.assertTrue(ok, "the storm failed");
            vm.assertEq(result.length, 0, "bytes returned");
            (, bytes32[] memory written) = vm.accesses(storm);
            vm.assertEq(written.length, count, "writes");
            for (uint256 i = 0; i < count; i++) {
                vm.assertEq(uint256(written[i]), uint256(hashOf(indices[i])), "key");
                vm.assertEq(uint256(vm.load(storm, written[i])), value, "value");
            }
        }
    }

    function test_calldata_that_is_not_two_words_and_whole_indices_reverts() public {
        assertReverts("", "nothing");
        assertReverts(abi.encodePacked(SEED), "no value");
        assertReverts(abi.encodePacked(SEED, uint256(1), uint8(0)), "a quarter of an index");
        assertReverts(abi.encodePacked(SEED, uint256(1), uint32(1), uint16(0)), "half an index");
    }
}
