// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// The code to which accounts of the load `delegate` delegate (EIP-7702). A call counts itself in
/// slot 0 of the account, pays, and logs the payment.
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
