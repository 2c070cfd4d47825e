// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {StandardToken} from "../src/StandardToken.sol";
import {vm} from "./Vm.sol";

contract StandardTokenTest {
    uint256 private constant COUNT = 50;
    uint256 private constant LOG_GAS = 4 * 375 + 8 * 32;
    uint256 private constant REST_GAS_MAX = 1_100; // warm slots of the giver, and steps

    event log_named_uint(string name, uint256 value);

    StandardToken private token;

    function setUp() public {
        token = new StandardToken();
        set(address(this), 10 ** 24);
        for (uint256 i = 0; i < COUNT; i++) {
            set(address(uint160(1_000 + i)), 5);
        }
    }

    function set(address account, uint256 balance) private {
        vm.store(address(token), keccak256(abi.encode(account, uint256(0))), bytes32(balance));
    }

    function gasOf(uint256 count, uint256 first) private returns (uint256) {
        address[] memory to = new address[](count);
        for (uint256 i = 0; i < count; i++) {
            to[i] = address(uint160(first + i));
        }
        vm.cool(address(token));
        vm.assertTrue(address(token).code.length > 0, "no code"); // warms the account
        uint256 before = gasleft();
        token.airdrop(to, 1);
        return before - gasleft();
    }

    function test_a_recipient_costs_a_slot_a_log_and_little_more() public {
        uint256 known = (gasOf(COUNT, 1_000) - gasOf(COUNT / 2, 1_000)) / (COUNT / 2);
        uint256 fresh = (gasOf(COUNT, 5_000) - gasOf(COUNT / 2, 9_000)) / (COUNT / 2);
        emit log_named_uint("gas per holder", known);
        emit log_named_uint("gas per fresh address", fresh);
        vm.assertGe(known, 5_000 + LOG_GAS, "too cheap: a balance is not cold, or no log");
        vm.assertLe(known, 5_000 + LOG_GAS + REST_GAS_MAX, "dearer than documented");
        vm.assertGe(fresh, 22_100 + LOG_GAS, "too cheap: a balance was not absent");
        vm.assertLe(fresh, 22_100 + LOG_GAS + REST_GAS_MAX, "dearer than documented");
    }

    function test_all_that_is_given_is_received() public {
        address[] memory to = new address[](3);
        (to[0], to[1], to[2]) = (address(1_000), address(9), address(9));
        vm.assertEq(token.airdrop(to, 7), 10 ** 24 - 21, "what is returned is what is left");
        vm.assertEq(token.balanceOf(address(this)), 10 ** 24 - 21, "giver");
        vm.assertEq(token.balanceOf(address(1_000)), 12, "holder");
        vm.assertEq(token.balanceOf(address(9)), 14, "named twice");
    }
}
