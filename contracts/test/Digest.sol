// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// The digest that storms return, as plain as it can be.
abstract contract Digest {
    /// A digest with one more value.
    function digest(uint256 before, uint256 value) internal pure returns (uint256) {
        unchecked {
            return before * 0x5851f42d4c957f2d + value;
        }
    }
}
