// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// One slot that every call reads and writes. `mix` touches it last, after `work` hashes that
/// depend only on the caller. `mixFirst` reads it first, so that its hashes depend on all earlier
/// calls.
contract OneSlot {
    bytes32 private value;

    function mix(uint256 work) external returns (bytes32 result) {
        result = keccak256(abi.encode(msg.sender));
        for (uint256 i = 0; i < work; i++) {
            result = keccak256(abi.encode(result));
        }
        result = keccak256(abi.encode(value, result));
        value = result;
    }

    function mixFirst(uint256 work) external returns (bytes32 result) {
        result = keccak256(abi.encode(value, msg.sender));
        for (uint256 i = 0; i < work; i++) {
            result = keccak256(abi.encode(result));
        }
        value = result;
    }
}
