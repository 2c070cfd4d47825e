// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {StormTest} from "./StormTest.sol";
import {vm} from "./Vm.sol";

contract ChaseStormTest is StormTest {
    uint256 private constant LENGTH = 8_000; // of the chain that `prepare` lays; above slotsPerTx

    function artifact() internal pure override returns (string memory) {
        return "ChaseStorm.yul:ChaseStorm";
    }

    function gasPerSlotMax() internal pure override returns (uint256) {
        return 2_101;
    }

    function gasPerRestSlotMax() internal pure override returns (uint256) {
        return 2_141;
    }

    function slotsPerTx() internal pure override returns (uint256) {
        return 7_975;
    }

    function reading(uint256 count) internal pure override returns (bytes memory) {
        return abi.encodePacked(keyAt(0), count);
    }

    function keyAt(uint256 i) private pure returns (bytes32) {
        return keccak256(abi.encode("chain", i));
    }

    function prepare() internal override {
        for (uint256 i = 0; i < LENGTH; i++) {
            vm.store(storm, keyAt(i), keyAt(i + 1));
        }
    }

    function testFuzz_the_result_is_the_key_after_count_reads(uint256 start, uint256 count) public {
        start %= LENGTH / 2;
        count %= LENGTH / 2;
        check(start, count);
    }

    function test_every_count_around_a_block_is_read_to_the_slot() public {
        for (uint256 count = 0; count <= 2 * BLOCK_SLOTS + 1; count++) {
            check(0, count);
        }
    }

    function testFuzz_a_chain_broken_anywhere_reverts(uint256 count, uint256 broken) public {
        count = 1 + count % (3 * BLOCK_SLOTS);
        broken %= count;
        vm.store(storm, keyAt(broken), 0);
        assertReverts(reading(count), "a broken chain passed");
        run(reading(broken)); // what precedes the break is sound
    }

    function test_a_chain_that_starts_at_0_and_goes_nowhere_reverts() public {
        assertReverts(abi.encodePacked(uint256(0), uint256(0)), "key 0, no reads");
        assertReverts(abi.encodePacked(uint256(0), uint256(1)), "key 0, one read");
    }

    function test_calldata_that_is_not_a_key_and_a_count_reverts() public {
        assertReverts("", "nothing");
        assertReverts(abi.encodePacked(keyAt(0)), "no count");
        assertReverts(abi.encodePacked(keyAt(0), uint256(1), uint8(0)), "a byte too many");
    }

    function check(uint256 start, uint256 count) private {
        vm.record();
        uint256 result = run(abi.encodePacked(keyAt(start), count));
        (bytes32[] memory read,) = vm.accesses(storm);
        vm.assertEq(read.length, count, "reads");

        bytes32 key = keyAt(start);
        for (uint256 i = 0; i < count; i++) {
            vm.assertEq(uint256(read[i]), uint256(key), "key");
            key = vm.load(storm, key);
        }
        vm.assertEq(result, uint256(key), "result");
    }
}
