// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// The cheatcodes used here, and no more: compiling forge-std takes longer than all of these tests.
interface Vm {
    struct Gas {
        uint64 gasLimit;
        uint64 gasTotalUsed;
        uint64 gasMemoryUsed;
        int64 gasRefunded;
        uint64 gasRemaining;
    }

    function accesses(address target)
        external
        returns (bytes32[] memory read, bytes32[] memory written);
    function assertEq(uint256 left, uint256 right, string calldata reason) external pure;
    function assertGe(uint256 left, uint256 right, string calldata reason) external pure;
    function assertLe(uint256 left, uint256 right, string calldata reason) external pure;
    function assertTrue(bool condition, string calldata reason) external pure;
    function cool(address target) external;
    function deal(address target, uint256 balance) external;
    function deployCode(string calldata artifact) external returns (address);
    function etch(address target, bytes calldata code) external;
    function getCode(string calldata artifact) external view returns (bytes memory);
    function lastCallGas() external view returns (Gas memory);
    function load(address target, bytes32 slot) external view returns (bytes32);
    function record() external;
    function store(address target, bytes32 slot, bytes32 value) external;
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
