// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// What accounts delegate their code to (EIP-7702): it counts in slot 0 of the account what was
/// executed for it, pays, and says so.
contract Wallet {
    uint256 private executed;

    event Executed(uint256 indexed number, address indexed caller, address indexed to);

    error Failed();

    function execute(address to, uint256 value) external returns (uint256 number) {
        number = ++executed;
        (bool ok,) = to.call{value: value}("");
        if (!ok) revert Failed();
        emit Executed(number, msg.sender, to);
    }
}
