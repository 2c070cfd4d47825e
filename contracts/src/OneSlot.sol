// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// One slot that every call reads and writes. `mix` touches it last, after `work` hashes of the
/// caller: its result depends on all calls before it, and its hashes on none. `mixFirst` touches it
/// first: its hashes depend on all calls before it too.
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
