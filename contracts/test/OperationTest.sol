// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Digest} from "./Digest.sol";
import {vm} from "./Vm.sol";

/// What a storm over `head, (start, count)*` owes whose operation is no plain SLOAD: its gas per
/// operation, from below and above. Ranges are apart, so that every operation is cold.
abstract contract OperationTest is Digest {
    uint256 internal constant BLOCK = 8; // operations of the unrolled loop
    uint256 internal constant SEED = uint256(keccak256("seed"));

    event log_named_decimal_uint(string name, uint256 value, uint256 decimals);

    address internal storm;

    /// Pins the gas of an operation: at least `least`, at most `most` in blocks and `rest` outside.
    /// Asks for indices start..start+64, which nothing has touched.
    function pin(bytes memory head, uint256 start, uint256 least, uint256 most, uint256 rest)
        internal
    {
        gasOf(ranged(head, start, 1)); // memory grows once
        uint256 few = gasOf(ranged(head, start + 1, 1 * BLOCK));
        uint256 many = gasOf(ranged(head, start + 10, 5 * BLOCK));
        uint256 one = gasOf(ranged(head, start + 50, 1));
        uint256 odd = gasOf(ranged(head, start + 51, BLOCK - 1));
        emit log_named_decimal_uint("gas in blocks", (many - few) * 100 / (4 * BLOCK), 2);
        emit log_named_decimal_uint("gas in the rest", (odd - one) * 100 / (BLOCK - 2), 2);
        vm.assertGe(many - few, 4 * BLOCK * least, "too cheap: not cold, or not made");
        vm.assertLe(many - few, 4 * BLOCK * most, "dearer than documented");
        vm.assertGe(odd - one, (BLOCK - 2) * least, "rest too cheap: not cold, or not made");
        vm.assertLe(odd - one, (BLOCK - 2) * rest, "rest dearer than documented");
    }

    function ranged(bytes memory head, uint256 start, uint256 count)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodePacked(head, start, count);
    }

    /// Gas of a call, the storm's account warm.
    function gasOf(bytes memory data) internal returns (uint256) {
        vm.assertTrue(storm.code.length > 0, "no code");
        uint256 before = gasleft();
        (bool ok,) = storm.call(data);
        uint256 spent = before - gasleft();
        vm.assertTrue(ok, "the storm failed");
        return spent;
    }

    function run(bytes memory data) internal returns (uint256) {
        (bool ok, bytes memory result) = storm.call(data);
        vm.assertTrue(ok, "the storm failed");
        vm.assertEq(result.length, 32, "bytes returned");
        return abi.decode(result, (uint256));
    }

    function assertReverts(bytes memory data, string memory reason) internal {
        (bool ok, bytes memory result) = storm.call{gas: 1 << 24}(data);
        vm.assertTrue(!ok, reason);
        vm.assertEq(result.length, 0, "bytes returned by a revert");
    }

    function hashOf(uint256 i) internal pure returns (bytes32) {
        return keccak256(abi.encode(SEED, i));
    }
}
