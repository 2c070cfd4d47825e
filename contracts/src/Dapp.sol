// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// A DApp with resources that its users share, such as a pool's reserves or a collection's counter.
/// A call reads one resource at its start, does `work` steps with the value, writes it back and
/// logs it.
contract Dapp {
    uint256 private constant STEP = 0xd1342543de82ef95; // odd, so that a step loses no bits

    mapping(uint256 resource => uint256) public valueOf;

    event Used(address indexed user, uint256 indexed resource, uint256 value);

    function use(uint256 resource, uint256 work) external returns (uint256 value) {
        value = valueOf[resource] ^ uint256(uint160(msg.sender));
        for (uint256 i = 0; i < work; i++) {
            unchecked {
                value = (value ^ (value >> 127)) * STEP + i;
            }
        }
        valueOf[resource] = value;
        emit Used(msg.sender, resource, value);
    }
}
