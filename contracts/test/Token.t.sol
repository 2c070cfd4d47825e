// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Token} from "../src/Token.sol";
import {vm} from "./Vm.sol";

contract TokenTest {
    // Two cold slots read and written (EIP-2929, EIP-3529), and a log of three topics and a word.
    uint256 private constant SLOTS_GAS = 2 * (2_100 + 2_900);
    uint256 private constant LOG_GAS = 375 + 3 * 375 + 8 * 32;
    uint256 private constant REST_GAS_MAX = 1_400;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event log_named_uint(string name, uint256 value);

    Token private token;

    function setUp() public {
        token = new Token();
        set(address(this), 1_000);
        set(address(1), 5);
    }

    function set(address account, uint256 balance) private {
        vm.store(address(token), keccak256(abi.encode(account, uint256(0))), bytes32(balance));
    }

    function test_a_transfer_costs_two_slots_a_log_and_little_more() public {
        vm.cool(address(token));
        vm.assertTrue(address(token).code.length > 0, "no code"); // warms the account
        uint256 before = gasleft();
        token.transfer(address(1), 7);
        uint256 spent = before - gasleft();
        emit log_named_uint("gas per transfer", spent);
        vm.assertGe(spent, SLOTS_GAS + LOG_GAS, "too cheap: a slot is not cold, or no log");
        vm.assertLe(spent, SLOTS_GAS + LOG_GAS + REST_GAS_MAX, "dearer than documented");
    }

    function test_a_transfer_moves_what_it_says_and_reads_two_slots() public {
        vm.record();
        vm.assertTrue(token.transfer(address(1), 7), "result");
        (, bytes32[] memory written) = vm.accesses(address(token));
        vm.assertEq(written.length, 2, "writes");
        vm.assertEq(token.balanceOf(address(this)), 993, "sender");
        vm.assertEq(token.balanceOf(address(1)), 12, "recipient");
    }

    function test_a_transfer_to_oneself_changes_nothing() public {
        token.transfer(address(this), 1_000);
        vm.assertEq(token.balanceOf(address(this)), 1_000, "balance");
    }

    function test_more_than_the_balance_reverts() public {
        (bool ok,) = address(token).call(abi.encodeCall(Token.transfer, (address(1), 1_001)));
        vm.assertTrue(!ok, "a transfer of more than there is passed");
    }
}
