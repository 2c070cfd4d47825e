// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// Work without state, `rounds` times. It starts with the caller's address, so that no two callers
/// compute the same and a cache of results does not help.
contract Compute {
    uint256 private constant HASH_BYTES = 4096;
    /// Prime of the field of the curve alt_bn128 (EIP-196).
    uint256 private constant P = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47;
    /// 2^256 - 189, the largest prime below 2^256.
    uint256 private constant MODULUS =
        0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff43;

    error Precompile(uint256 number);

    /// Each round hashes 4 KiB that begin with the hash of the round before.
    function hash(uint256 rounds) external view returns (uint256 result) {
        assembly ("memory-safe") {
            let buffer := mload(0x40)
            result := caller()
            for { let i := 0 } lt(i, rounds) { i := add(i, 1) } {
                mstore(buffer, result)
                result := keccak256(buffer, HASH_BYTES)
            }
        }
    }

    /// Each round raises the result of the round before, plus the round's number, to an exponent of
    /// 256 bits modulo a prime (EIP-198).
    function modexp(uint256 rounds) external view returns (uint256 result) {
        uint256 failed = 0;
        assembly ("memory-safe") {
            let input := mload(0x40)
            mstore(input, 32)
            mstore(add(input, 32), 32)
            mstore(add(input, 64), 32)
            mstore(add(input, 128), sub(MODULUS, 2))
            mstore(add(input, 160), MODULUS)
            result := caller()
            for { let i := 0 } lt(i, rounds) { i := add(i, 1) } {
                // The power is the modular inverse. Without `i`, two rounds would give back their
                // input.
                mstore(add(input, 96), add(result, i))
                if iszero(staticcall(gas(), 5, input, 192, input, 32)) { failed := 1 }
                result := mload(input)
                mstore(input, 32)
            }
        }
        if (failed != 0) revert Precompile(5);
    }

    /// Each round checks e(A, G2) · e(-A, G2) = 1, which are two pairs, for another point A
    /// (EIP-197).
    function pairing(uint256 rounds) external view returns (uint256 result) {
        uint256[12] memory pairs;
        for (uint256 i = 2; i < 12; i += 6) {
            // The generator of G2.
            pairs[i] = 0x198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2;
            pairs[i + 1] = 0x1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed;
            pairs[i + 2] = 0x090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b;
            pairs[i + 3] = 0x12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa;
        }
        uint256[4] memory sum; // A, and the generator of G1 that is added to it
        (sum[0], sum[1]) = multiple(uint160(msg.sender));
        (sum[2], sum[3]) = (1, 2);
        for (uint256 i = 0; i < rounds; i++) {
            call(6, sum, 128, 64);
            (pairs[0], pairs[1]) = (sum[0], sum[1]);
            (pairs[6], pairs[7]) = (sum[0], P - sum[1]);
            result += check(pairs);
        }
        if (result != rounds) revert Precompile(8);
        result = sum[0];
    }

    /// Each round is a multiplication, an addition, a shift and an exclusive or.
    function loop(uint256 rounds) external view returns (uint256 result) {
        unchecked {
            result = uint160(msg.sender);
            for (uint256 i = 0; i < rounds; i++) {
                result = (result * 0x9e3779b97f4a7c15 + i) ^ (result >> 7);
            }
        }
    }

    function multiple(uint256 scalar) private view returns (uint256, uint256) {
        uint256[4] memory input = [1, 2, scalar, 0];
        call(7, input, 96, 64);
        return (input[0], input[1]);
    }

    function check(uint256[12] memory pairs) private view returns (uint256 result) {
        bool ok;
        assembly ("memory-safe") {
            ok := staticcall(gas(), 8, pairs, 384, 0, 32)
            result := mload(0)
        }
        if (!ok) revert Precompile(8);
    }

    /// Calls a precompile. Its output replaces the first words of the input.
    function call(uint256 precompile, uint256[4] memory words, uint256 inBytes, uint256 outBytes)
        private
        view
    {
        bool ok;
        assembly ("memory-safe") {
            ok := staticcall(gas(), precompile, words, inBytes, words, outBytes)
        }
        if (!ok) revert Precompile(precompile);
    }
}
