// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OperationTest} from "./OperationTest.sol";
import {vm} from "./Vm.sol";

contract IndexStormTest is OperationTest {
    uint256 private constant COLD_SLOAD_GAS = 2_100;

    function setUp() public {
        storm = vm.deployCode("IndexStorm.yul:IndexStorm");
    }

    /// The seed and `count` indices, downwards from `start`.
    function downwards(uint32 start, uint256 count) private pure returns (bytes memory data) {
        data = abi.encodePacked(SEED);
        for (uint256 i = 0; i < count; i++) {
            data = abi.encodePacked(data, uint32(start - i));
        }
    }

    function test_a_slot_costs_a_cold_read_and_a_hash_and_little_more() public {
        gasOf(downwards(1, 1)); // memory grows once
        uint256 blocks = gasOf(downwards(2_000, 5 * BLOCK)) - gasOf(downwards(1_000, BLOCK));
        uint256 rest = gasOf(downwards(4_000, BLOCK - 1)) - gasOf(downwards(3_000, 1));
        emit log_named_decimal_uint("gas in blocks", blocks * 100 / (4 * BLOCK), 2);
        emit log_named_decimal_uint("gas in the rest", rest * 100 / (BLOCK - 2), 2);
        vm.assertGe(blocks, 4 * BLOCK * COLD_SLOAD_GAS, "too cheap: not cold, or not made");
        vm.assertLe(blocks, 4 * BLOCK * (COLD_SLOAD_GAS + 87), "dearer than documented");
        vm.assertGe(rest, (BLOCK - 2) * COLD_SLOAD_GAS, "rest too cheap: not cold, or not made");
        vm.assertLe(rest, (BLOCK - 2) * (COLD_SLOAD_GAS + 125), "rest dearer than documented");
    }

    function testFuzz_slots_are_read_in_the_order_of_calldata(uint32[21] memory indices) public {
        for (uint256 count = 0; count <= indices.length; count++) {
            bytes memory data = abi.encodePacked(SEED);
            uint256 expected = 0;
            for (uint256 i = 0; i < count; i++) {
                data = abi.encodePacked(data, indices[i]);
                vm.store(storm, hashOf(indices[i]), keccak256(abi.encode("value", indices[i])));
                expected = digest(expected, uint256(vm.load(storm, hashOf(indices[i]))));
            }
            vm.record();
            vm.assertEq(run(data), expected, "result");
            (bytes32[] memory read,) = vm.accesses(storm);
            vm.assertEq(read.length, count, "reads");
            for (uint256 i = 0; i < count; i++) {
                vm.assertEq(uint256(read[i]), uint256(hashOf(indices[i])), "key");
            }
        }
    }

    function test_calldata_that_is_no_seed_and_whole_indices_reverts() public {
        assertReverts("", "no seed");
        assertReverts(abi.encodePacked(SEED, uint8(0)), "a quarter of an index");
        assertReverts(abi.encodePacked(SEED, uint32(1), uint16(0)), "half an index");
    }
}
