// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Dapp} from "../src/Dapp.sol";
import {vm} from "./Vm.sol";

contract DappTest {
    uint256 private constant SLOT_GAS = 2_100 + 2_900; // EIP-2929, EIP-3529
    uint256 private constant LOG_GAS = 375 + 3 * 375 + 8 * 32;
    uint256 private constant REST_GAS_MAX = 1_100;
    // A multiplication, an addition, a shift and an exclusive or, their constants and the loop.
    uint256 private constant STEP_GAS = 5 + 3 + 3 + 3;
    uint256 private constant STEP_GAS_MAX = 100;

    event log_named_uint(string name, uint256 value);

    Dapp private dapp;

    function setUp() public {
        dapp = new Dapp();
        for (uint256 resource = 0; resource < 3; resource++) {
            vm.store(address(dapp), keyOf(resource), bytes32(resource + 1));
        }
    }

    function test_a_call_costs_its_resource_a_log_and_its_work() public {
        uint256 none = gasOf(0);
        uint256 step = (gasOf(1_000) - none) / 1_000;
        emit log_named_uint("gas without work", none);
        emit log_named_uint("gas per unit of work", step);
        vm.assertGe(none, SLOT_GAS + LOG_GAS, "too cheap: the slot is not cold, or no log");
        vm.assertLe(none, SLOT_GAS + LOG_GAS + REST_GAS_MAX, "dearer than documented");
        vm.assertGe(step, STEP_GAS, "too cheap: a step is not made");
        vm.assertLe(step, STEP_GAS_MAX, "dearer than documented");
    }

    function test_a_call_reads_and_writes_its_resource_and_no_other() public {
        vm.record();
        uint256 value = dapp.use(2, 7);
        (, bytes32[] memory written) = vm.accesses(address(dapp));
        vm.assertEq(written.length, 1, "writes");
        vm.assertTrue(written[0] == keyOf(2), "the resource");
        vm.assertEq(dapp.valueOf(2), value, "what is returned is what is written");
        vm.assertEq(dapp.valueOf(1), 2, "another resource");
    }

    function test_a_call_depends_on_all_before_it_and_its_work_on_the_resource() public {
        uint256 first = dapp.use(0, 5);
        uint256 second = dapp.use(0, 5);
        vm.assertTrue(first != second, "the second call does not see the first");
        vm.assertTrue(dapp.use(1, 5) != first, "the work does not depend on the resource");
        vm.assertTrue(dapp.use(2, 0) == 3 ^ uint256(uint160(address(this))), "without work");
    }

    function keyOf(uint256 resource) private pure returns (bytes32) {
        return keccak256(abi.encode(resource, uint256(0)));
    }

    function gasOf(uint256 work) private returns (uint256) {
        vm.cool(address(dapp));
        vm.assertTrue(address(dapp).code.length > 0, "no code"); // warms the account
        uint256 before = gasleft();
        dapp.use(1, work);
        return before - gasleft();
    }
}
