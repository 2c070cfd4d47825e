// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {StormTest} from "./StormTest.sol";
import {vm} from "./Vm.sol";

/// What a storm over `seed, (start, count)*` owes: the digest of the values of `keyAt(seed, i)` over all
/// ranges.
abstract contract RangeStormTest is StormTest {
    struct Range {
        uint256 start;
        uint256 count;
    }

    uint256 private constant COUNT_MAX = 3 * BLOCK_SLOTS; // none, several blocks, any rest

    /// The definition of the key, as plain as it can be.
    function keyAt(uint256 seed, uint256 i) internal pure virtual returns (uint256);

    function reading(uint256 count) internal pure override returns (bytes memory) {
        return abi.encodePacked(SEED, uint256(0), count);
    }

    function testFuzz_the_result_is_the_digest_of_one_range(uint256 seed, Range memory range)
        public
    {
        Range[] memory ranges = new Range[](1);
        ranges[0] = range;
        check(seed, ranges);
    }

    function testFuzz_the_result_is_the_digest_of_all_ranges(uint256 seed, Range[4] memory four)
        public
    {
        Range[] memory ranges = new Range[](4);
        for (uint256 i = 0; i < 4; i++) {
            ranges[i] = four[i];
        }
        check(seed, ranges);
    }

    function test_every_count_around_a_block_is_read_to_the_slot() public {
        for (uint256 count = 0; count <= 2 * BLOCK_SLOTS + 1; count++) {
            Range[] memory ranges = new Range[](2);
            ranges[0] = Range(1_000 * count, count);
            ranges[1] = Range(1_000 * count + 500, 1);
            check(SEED, ranges);
        }
    }

    function test_an_index_wraps_at_2_256() public {
        Range[] memory ranges = new Range[](1);
        ranges[0] = Range(type(uint256).max - BLOCK_SLOTS - 3, 2 * BLOCK_SLOTS + 9);
        check(SEED, ranges);
    }

    function test_no_range_and_empty_ranges_read_nothing() public {
        vm.store(storm, bytes32(keyAt(SEED, 7)), bytes32(uint256(1)));
        vm.record();
        vm.assertEq(run(abi.encodePacked(SEED)), 0, "no range");
        vm.assertEq(run(abi.encodePacked(SEED, uint256(7), uint256(0))), 0, "an empty range");
        (bytes32[] memory read,) = vm.accesses(storm);
        vm.assertEq(read.length, 0, "reads");
    }

    function test_a_range_read_twice_is_not_the_range_read_once() public {
        uint256 start = 5;
        fill(SEED, Range(start, 100));
        bytes memory once = abi.encodePacked(SEED, start, uint256(100));
        bytes memory twice = abi.encodePacked(once, start, uint256(100));
        vm.assertTrue(run(once) != 0, "once");
        vm.assertTrue(run(twice) != 0 && run(twice) != run(once), "twice");
    }

    /// Two values in each other's place: wherever they stand, the result is another.
    function testFuzz_exchanged_values_are_another_result(uint256 one, uint256 other) public {
        uint256 count = 2 * BLOCK_SLOTS + 9;
        one %= count;
        other %= count;
        if (one == other) {
            other = (one + 1) % count;
        }
        fill(SEED, Range(0, count));
        bytes memory data = abi.encodePacked(SEED, uint256(0), count);
        uint256 before = run(data);
        bytes32 first = bytes32(keyAt(SEED, one));
        bytes32 second = bytes32(keyAt(SEED, other));
        bytes32 value = vm.load(storm, first);
        vm.store(storm, first, vm.load(storm, second));
        vm.store(storm, second, value);
        vm.assertTrue(run(data) != before, "exchanged values pass");
    }

    function test_calldata_that_is_no_seed_and_whole_pairs_reverts() public {
        assertReverts("", "no seed");
        assertReverts(abi.encodePacked(SEED, uint256(1)), "half a pair");
        assertReverts(abi.encodePacked(SEED, uint256(1), uint256(1), uint8(0)), "a byte too many");
    }

    /// The storm must read exactly the keys of the ranges, in order, and digest their values.
    function check(uint256 seed, Range[] memory ranges) private {
        bytes memory data = abi.encodePacked(seed);
        uint256 slots = 0;
        for (uint256 i = 0; i < ranges.length; i++) {
            ranges[i].count %= COUNT_MAX;
            slots += ranges[i].count;
            fill(seed, ranges[i]);
            data = abi.encodePacked(data, ranges[i].start, ranges[i].count);
        }

        vm.record();
        uint256 result = run(data);
        (bytes32[] memory read,) = vm.accesses(storm);
        vm.assertEq(read.length, slots, "reads");

        uint256 expected = 0;
        uint256 reads = 0;
        for (uint256 i = 0; i < ranges.length; i++) {
            for (uint256 j = 0; j < ranges[i].count; j++) {
                bytes32 key = key_(seed, ranges[i], j);
                vm.assertEq(uint256(read[reads++]), uint256(key), "key");
                expected = digest(expected, uint256(vm.load(storm, key)));
            }
        }
        vm.assertEq(result, expected, "result");
    }

    function fill(uint256 seed, Range memory range) private {
        for (uint256 j = 0; j < range.count; j++) {
            bytes32 key = key_(seed, range, j);
            vm.store(storm, key, keccak256(abi.encode("value", key)));
        }
    }

    function key_(uint256 seed, Range memory range, uint256 j) private pure returns (bytes32) {
        unchecked {
            return bytes32(keyAt(seed, range.start + j));
        }
    }
}
