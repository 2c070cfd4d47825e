// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Wallet} from "../src/Wallet.sol";
import {vm} from "./Vm.sol";

contract WalletTest {
    // A slot written, a cold account, wei carried to one that exists, a log of four topics; EIP-150
    // gives a call with value 2,300 gas back.
    uint256 private constant LEAST_GAS = 5_000 + 2_600 + 9_000 - 2_300 + 5 * 375;
    uint256 private constant REST_GAS_MAX = 1_200;

    event log_named_uint(string name, uint256 value);

    Wallet private wallet;

    function setUp() public {
        wallet = new Wallet();
        vm.store(address(wallet), 0, bytes32(uint256(1)));
        vm.deal(address(wallet), 100);
        vm.deal(address(0xbeef), 100);
    }

    function test_an_execution_costs_a_slot_a_payment_a_log_and_little_more() public {
        vm.cool(address(wallet));
        vm.cool(address(0xbeef));
        vm.assertTrue(address(wallet).code.length > 0, "no code"); // warms the account
        uint256 before = gasleft();
        wallet.execute(address(0xbeef), 1);
        uint256 spent = before - gasleft();
        emit log_named_uint("gas per execution", spent);
        vm.assertGe(spent, LEAST_GAS, "too cheap: nothing is paid, counted or logged");
        vm.assertLe(spent, LEAST_GAS + REST_GAS_MAX, "dearer than documented");
    }

    function test_what_is_executed_is_paid_and_counted() public {
        vm.assertEq(wallet.execute(address(0xbeef), 3), 2, "number");
        vm.assertEq(wallet.execute(address(0xbeef), 4), 3, "next number");
        vm.assertEq(address(0xbeef).balance, 107, "paid");
        vm.assertEq(address(wallet).balance, 93, "left");
    }

    function test_more_than_there_is_reverts() public {
        bytes memory input = abi.encodeCall(Wallet.execute, (address(0xbeef), 101));
        (bool ok,) = address(wallet).call(input);
        vm.assertTrue(!ok, "a payment of more than there is passed");
    }
}
