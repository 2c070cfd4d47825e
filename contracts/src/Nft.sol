// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// OpenZeppelin's ERC-721: owners at mapping slot 2, balances at 3, approvals at 4. Slot 6 has the
/// last minted id, which every mint reads and writes.
contract Nft is ERC721("Nft", "NFT") {
    uint256 private last;

    function mint() external returns (uint256 id) {
        id = ++last;
        _mint(msg.sender, id);
    }
}
