// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// The part of ERC-20 that loads need: balances at mapping slot 0, and `transfer`.
contract Token {
    mapping(address account => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    error InsufficientBalance(address account, uint256 balance, uint256 needed);

    function transfer(address to, uint256 value) external returns (bool) {
        uint256 balance = balanceOf[msg.sender];
        if (balance < value) revert InsufficientBalance(msg.sender, balance, value);
        unchecked {
            balanceOf[msg.sender] = balance - value;
            balanceOf[to] += value; // at most the supply, which the genesis keeps far below 2^256
        }
        emit Transfer(msg.sender, to, value);
        return true;
    }
}
