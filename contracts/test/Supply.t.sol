// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Supply} from "../src/Supply.sol";
import {vm} from "./Vm.sol";

contract SupplyTest {
    uint256 private constant SLOT_GAS = 2_100 + 2_900; // EIP-2929, EIP-3529
    uint256 private constant LOG_GAS = 375 + 3 * 375 + 8 * 32;
    uint256 private constant REST_GAS_MAX = 1_200;

    event log_named_uint(string name, uint256 value);

    Supply private token;

    function setUp() public {
        token = new Supply();
        bytes32 own = keccak256(abi.encode(address(this), uint256(0)));
        vm.store(address(token), own, bytes32(uint256(1_000)));
        vm.store(address(token), bytes32(uint256(1)), bytes32(uint256(5_000)));
    }

    function test_spending_costs_a_slot_and_a_log_and_burning_one_slot_more() public {
        uint256 before = ready();
        token.spend(7);
        uint256 spent = before - gasleft();
        emit log_named_uint("gas of spending", spent);
        vm.assertGe(spent, SLOT_GAS + LOG_GAS, "too cheap: the slot is not cold, or no log");
        vm.assertLe(spent, SLOT_GAS + LOG_GAS + REST_GAS_MAX, "dearer than documented");
        before = ready();
        token.burn(7);
        uint256 burnt = before - gasleft();
        emit log_named_uint("gas of burning", burnt);
        vm.assertGe(burnt, spent + SLOT_GAS, "too cheap: the supply is not cold, or not written");
        vm.assertLe(burnt, 2 * SLOT_GAS + LOG_GAS + REST_GAS_MAX, "dearer than documented");
    }

    function test_spending_writes_the_own_balance_alone_and_burning_the_supply_too() public {
        vm.record();
        vm.assertEq(token.spend(7), 993, "what is left");
        (, bytes32[] memory written) = vm.accesses(address(token));
        vm.assertEq(written.length, 1, "writes of spending");
        vm.record();
        vm.assertEq(token.burn(3), 4_997, "the supply that is left");
        (, written) = vm.accesses(address(token));
        vm.assertEq(written.length, 2, "writes of burning");
        vm.assertEq(token.balanceOf(address(this)), 990, "balance");
        vm.assertEq(token.totalSupply(), 4_997, "supply");
    }

    function test_more_than_the_balance_reverts() public {
        (bool ok,) = address(token).call(abi.encodeCall(Supply.spend, (1_001)));
        vm.assertTrue(!ok, "more than there is was spent");
        (ok,) = address(token).call(abi.encodeCall(Supply.burn, (1_001)));
        vm.assertTrue(!ok, "more than there is was burnt");
    }

    function ready() private returns (uint256) {
        vm.cool(address(token));
        vm.assertTrue(address(token).code.length > 0, "no code"); // warms the account
        return gasleft();
    }
}
