// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// OpenZeppelin's ERC-20: balances at mapping slot 0, allowances at 1. `airdrop` pays many
/// accounts.
contract StandardToken is ERC20("Standard Token", "STD") {
    function airdrop(address[] calldata to, uint256 value) external returns (uint256) {
        for (uint256 i = 0; i < to.length; i++) {
            _transfer(msg.sender, to[i], value);
        }
        return balanceOf(msg.sender);
    }
}
