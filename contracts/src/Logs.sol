// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// Writes `count` different logs, each of `topics` topics (0 to 4) and `size` bytes of data.
contract Logs {
    error TooManyTopics(uint256 topics);

    function write(uint256 count, uint256 topics, uint256 size) external returns (uint256 result) {
        if (topics > 4) revert TooManyTopics(topics);
        assembly ("memory-safe") {
            let data := mload(0x40)
            result := caller()
            for { let i := 0 } lt(i, count) { i := add(i, 1) } {
                result := add(mul(result, 0x9e3779b97f4a7c15), i)
                mstore(data, result)
                switch topics
                case 0 { log0(data, size) }
                case 1 { log1(data, size, result) }
                case 2 { log2(data, size, result, i) }
                case 3 { log3(data, size, result, i, caller()) }
                default { log4(data, size, result, i, caller(), not(result)) }
            }
        }
    }
}
