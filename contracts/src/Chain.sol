// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// One link of a chain of transactions: reads `from` and changes `to`, which are two slots (`step`)
/// or the balances of two accounts (`pay`). The `first` hashes, before the reads, depend only on
/// the caller. The `last` hashes, after the reads, depend on the link before too.
contract Chain {
    mapping(uint256 place => bytes32) public valueOf;

    error NotPaid(address account);

    function step(uint256 from, uint256 to, uint256 first, uint256 last)
        external
        returns (bytes32 result)
    {
        result = hashed(keccak256(abi.encode(msg.sender)), first);
        result = keccak256(abi.encode(valueOf[from], valueOf[to], result));
        result = hashed(result, last);
        valueOf[to] = result;
    }

    function pay(address from, address to, uint256 first, uint256 last)
        external
        payable
        returns (bytes32 result)
    {
        result = hashed(keccak256(abi.encode(msg.sender)), first);
        result = keccak256(abi.encode(from.balance, to.balance, result));
        result = hashed(result, last);
        (bool isPaid,) = to.call{value: msg.value}("");
        if (!isPaid) revert NotPaid(to);
    }

    function hashed(bytes32 value, uint256 count) private pure returns (bytes32) {
        for (uint256 i = 0; i < count; i++) {
            value = keccak256(abi.encode(value));
        }
        return value;
    }
}
