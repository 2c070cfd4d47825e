// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// Deploys contracts at addresses that follow from salt and code (CREATE2, EIP-1014).
contract Factory {
    event Deployed(address indexed deployed, bytes32 indexed salt);

    error Failed();

    function deploy(bytes32 salt, bytes calldata code) external returns (address deployed) {
        bytes memory copy = code;
        assembly ("memory-safe") {
            deployed := create2(0, add(copy, 32), mload(copy), salt)
        }
        if (deployed == address(0)) revert Failed();
        emit Deployed(deployed, salt);
    }
}
