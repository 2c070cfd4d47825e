// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {RangeStormTest} from "./RangeStormTest.sol";
import {vm} from "./Vm.sol";

contract WeylStormTest is RangeStormTest {
    uint256 private constant W = 0x9e3779b97f4a7c15f39cc0605cedc8341082276bf3a27251f86c6a11d0c18e95;

    function artifact() internal pure override returns (string memory) {
        return "WeylStorm.yul:WeylStorm";
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

    function keyAt(uint256 seed, uint256 i) internal pure override returns (uint256) {
        unchecked {
            return seed + i * W;
        }
    }

    /// 1 / phi is the root of x^2 + x = 1, so W is the greatest w with w^2 + w * 2^256 < 2^512: the
    /// high word of w^2, plus w, is the last that does not overflow.
    function test_the_step_is_2_256_over_the_golden_ratio_and_odd() public pure {
        vm.assertTrue(W <= type(uint256).max - highOfSquare(W), "too great");
        vm.assertTrue(W + 1 > type(uint256).max - highOfSquare(W + 1), "too small");
        vm.assertEq(W % 2, 1, "odd");
    }

    /// floor(w^2 / 2^256), from w^2 modulo 2^256 - 1 and modulo 2^256.
    function highOfSquare(uint256 w) private pure returns (uint256) {
        unchecked {
            uint256 low = w * w;
            uint256 sum = mulmod(w, w, type(uint256).max); // high + low, modulo 2^256 - 1
            return sum - low - (sum < low ? 1 : 0);
        }
    }
}
