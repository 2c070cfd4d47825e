// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// A token whose holders destroy tokens of theirs. `burn` lowers the caller's balance and the total
/// supply, a slot that all callers share. `spend` lowers only the balance.
contract Supply {
    mapping(address account => uint256) public balanceOf;
    uint256 public totalSupply;

    event Transfer(address indexed from, address indexed to, uint256 value);

    error InsufficientBalance(address account, uint256 balance, uint256 needed);

    function burn(uint256 value) external returns (uint256 left) {
        take(value);
        left = totalSupply - value;
        totalSupply = left;
    }

    function spend(uint256 value) external returns (uint256 left) {
        left = take(value);
    }

    function take(uint256 value) private returns (uint256 left) {
        uint256 balance = balanceOf[msg.sender];
        if (balance < value) revert InsufficientBalance(msg.sender, balance, value);
        unchecked {
            left = balance - value;
        }
        balanceOf[msg.sender] = left;
        emit Transfer(msg.sender, address(0), value);
    }
}
