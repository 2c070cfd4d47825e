// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {StormTest} from "./StormTest.sol";
import {vm} from "./Vm.sol";

contract PaddedStormTest is StormTest {
    uint256 private constant W = 0x9e3779b97f4a7c15f39cc0605cedc8341082276bf3a27251f86c6a11d0c18e95;

    function artifact() internal pure override returns (string memory) {
        return "PaddedStorm.yul:PaddedStorm";
    }

    function gasPerSlotMax() internal pure override returns (uint256) {
        return 2_122;
    }

    function gasPerRestSlotMax() internal pure override returns (uint256) {
        return 2_170;
    }

    function slotsPerTx() internal pure override returns (uint256) {
        return 7_898;
    }

    function reading(uint256 count) internal pure override returns (bytes memory) {
        return abi.encodePacked(SEED, uint256(1), uint256(0), count);
    }

    /// What follows the ranges changes neither what is read, nor what it costs.
    function testFuzz_bytes_behind_the_ranges_change_nothing(
        uint256[2] memory starts,
        uint256[2] memory counts,
        bytes memory padding
    ) public {
        bytes memory plain = abi.encodePacked(SEED, uint256(2));
        uint256 slots = 0;
        uint256 expected = 0;
        for (uint256 range = 0; range < 2; range++) {
            counts[range] %= 2 * BLOCK_SLOTS;
            slots += counts[range];
            plain = abi.encodePacked(plain, starts[range], counts[range]);
            for (uint256 i = 0; i < counts[range]; i++) {
                bytes32 key = keyAt(starts[range], i);
                vm.store(storm, key, keccak256(abi.encode("value", key)));
            }
        }
        for (uint256 range = 0; range < 2; range++) {
            for (uint256 i = 0; i < counts[range]; i++) {
                expected = digest(expected, uint256(vm.load(storm, keyAt(starts[range], i))));
            }
        }
        vm.record();
        vm.assertEq(run(plain), expected, "result");
        bytes memory padded = abi.encodePacked(plain, padding);
        vm.assertEq(run(padded), expected, "result with padding");
        (bytes32[] memory read,) = vm.accesses(storm);
        vm.assertEq(read.length, 2 * slots, "reads");
        for (uint256 i = 0; i < slots; i++) {
            vm.assertEq(uint256(read[i]), uint256(read[slots + i]), "key");
        }
        vm.assertEq(executionGasOf(padded), executionGasOf(plain), "gas");
    }

    function keyAt(uint256 start, uint256 i) private pure returns (bytes32) {
        unchecked {
            return bytes32(SEED + (start + i) * W);
        }
    }

    /// Gas that the storm itself uses: a call copies its calldata into memory first.
    function executionGasOf(bytes memory data) private returns (uint256) {
        vm.cool(storm);
        (bool ok,) = storm.call(data);
        vm.assertTrue(ok, "the storm failed");
        return vm.lastCallGas().gasTotalUsed;
    }

    function test_calldata_shorter_than_its_number_of_ranges_reverts() public {
        assertReverts("", "nothing");
        assertReverts(abi.encodePacked(SEED), "no number");
        assertReverts(abi.encodePacked(SEED, uint256(1)), "no range");
        assertReverts(abi.encodePacked(SEED, uint256(2), uint256(0), uint256(1)), "one of two");
        assertReverts(abi.encodePacked(SEED, uint256(1), uint256(0), uint248(1)), "half a count");
        assertReverts(abi.encodePacked(SEED, type(uint256).max, uint256(0), uint256(1)), "many");
        // 64 times this number is 0 modulo 2^256.
        assertReverts(abi.encodePacked(SEED, uint256(1) << 250, uint256(0), uint256(1)), "wraps");
    }
}
