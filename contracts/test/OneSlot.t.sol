// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OneSlot} from "../src/OneSlot.sol";
import {vm} from "./Vm.sol";

contract OneSlotTest {
    uint256 private constant HASH_GAS = 36; // KECCAK256 of a word
    uint256 private constant ITERATION_GAS_MAX = 250;
    uint256 private constant SLOT_GAS = 2_100 + 2_900; // EIP-2929, EIP-3529

    event log_named_uint(string name, uint256 value);

    OneSlot private slot;

    function setUp() public {
        slot = new OneSlot();
        vm.store(address(slot), 0, bytes32(uint256(1)));
    }

    function test_a_call_costs_the_slot_and_its_work() public {
        pin(slot.mix);
    }

    function test_a_call_that_touches_the_slot_first_costs_the_same() public {
        pin(slot.mixFirst);
    }

    function pin(function(uint256) external returns (bytes32) call) private {
        uint256 none = gasOf(call, 0);
        uint256 work = (gasOf(call, 100) - none) / 100;
        emit log_named_uint("gas without work", none);
        emit log_named_uint("gas per unit of work", work);
        vm.assertGe(none, SLOT_GAS, "too cheap: the slot is not cold, or not written");
        vm.assertLe(none, SLOT_GAS + 1_200, "dearer than documented");
        vm.assertGe(work, HASH_GAS, "too cheap: a hash is not made");
        vm.assertLe(work, ITERATION_GAS_MAX, "dearer than documented");
    }

    function test_a_call_depends_on_all_before_it_and_writes_one_slot() public {
        vm.record();
        bytes32 first = slot.mix(3);
        (, bytes32[] memory written) = vm.accesses(address(slot));
        vm.assertEq(written.length, 1, "writes");
        vm.assertTrue(vm.load(address(slot), 0) == first, "what is returned is what is written");
        vm.assertTrue(slot.mix(3) != first, "the second call does not see the first");
    }

    function test_the_result_is_the_hash_of_the_slot_and_of_the_work() public {
        bytes32 expected = keccak256(abi.encode(keccak256(abi.encode(address(this)))));
        expected = keccak256(abi.encode(uint256(1), expected));
        vm.assertTrue(slot.mix(1) == expected, "result");
    }

    function test_the_work_of_a_call_that_touches_the_slot_first_begins_with_the_slot() public {
        bytes32 expected = keccak256(abi.encode(keccak256(abi.encode(uint256(1), address(this)))));
        vm.assertTrue(slot.mixFirst(1) == expected, "result");
        vm.assertTrue(vm.load(address(slot), 0) == expected, "written");
    }

    function gasOf(function(uint256) external returns (bytes32) call, uint256 work)
        private
        returns (uint256)
    {
        vm.cool(address(slot));
        vm.assertTrue(address(slot).code.length > 0, "no code"); // warms the account
        uint256 before = gasleft();
        call(work);
        return before - gasleft();
    }
}
