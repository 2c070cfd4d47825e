// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OperationTest} from "./OperationTest.sol";
import {vm} from "./Vm.sol";

contract BloatedTest is OperationTest {
    uint256 private constant COLD_SLOT_GAS = 2_100;
    uint256 private constant UPDATE_GAS = 5_000; // of a cold slot
    uint256 private constant READ_GAS_MAX = 70;
    uint256 private constant WRITE_GAS_MAX = 53;
    uint256 private constant LENGTH = 400;

    function setUp() public {
        storm = vm.deployCode("Bloated.yul:Bloated");
        vm.store(storm, 0, bytes32(uint256(1)));
        for (uint256 i = 1; i <= LENGTH; i++) {
            vm.store(storm, bytes32(i), bytes32(i));
        }
    }

    function assertRead(uint256 result, uint256 first, uint256 count) private {
        (bytes32[] memory read,) = vm.accesses(storm);
        uint256 expected = 0;
        uint256 seen = 0;
        for (uint256 i = 0; i < read.length; i++) {
            if (read[i] == 0) continue; // the pointer
            vm.assertEq(uint256(read[i]), first + seen, "key");
            expected = digest(expected, first + seen);
            seen++;
        }
        vm.assertEq(seen, count, "reads");
        vm.assertEq(result, expected, "result");
    }

    function test_reading_goes_on_where_the_last_call_ended() public {
        for (uint256 call = 0; call < 3; call++) {
            vm.record();
            assertRead(run(abi.encode(0, 0, 70)), 1 + 70 * call, 70);
            vm.assertEq(uint256(vm.load(storm, 0)), 1 + 70 * (call + 1), "pointer");
        }
    }

    function test_a_jump_reads_where_the_call_before_said_and_says_where_the_next_reads() public {
        uint256[4] memory first = [uint256(1), 200, 50, 300];
        for (uint256 call = 0; call < 3; call++) {
            vm.record();
            assertRead(run(abi.encode(1, first[call + 1], 30)), first[call], 30);
            vm.assertEq(uint256(vm.load(storm, 0)), first[call + 1], "pointer");
        }
    }

    function test_writing_changes_as_many_slots_and_no_pointer() public {
        vm.assertEq(run(abi.encode(2, 10, 20)), 0, "result");
        for (uint256 i = 1; i < 40; i++) {
            uint256 expected = i >= 10 && i < 30 ? i + 2 : i;
            vm.assertEq(uint256(vm.load(storm, bytes32(i))), expected, "slot");
        }
        vm.assertEq(uint256(vm.load(storm, 0)), 1, "pointer");
    }

    function cost(uint256 op, uint256 where, uint256 count) private returns (uint256) {
        vm.cool(storm);
        return gasOf(abi.encode(op, where, count));
    }

    function test_a_slot_costs_what_is_documented() public {
        for (uint256 op = 0; op < 3; op++) {
            uint256 least = op == 2 ? UPDATE_GAS : COLD_SLOT_GAS;
            uint256 most = op == 2 ? UPDATE_GAS + WRITE_GAS_MAX : COLD_SLOT_GAS + READ_GAS_MAX;
            vm.store(storm, 0, bytes32(uint256(1)));
            uint256 few = cost(op, 200, 10);
            vm.store(storm, 0, bytes32(uint256(11)));
            uint256 spent = cost(op, 250, 110) - few;
            emit log_named_decimal_uint("gas of a slot", spent, 2);
            vm.assertGe(spent, 100 * least, "too cheap: not cold, or not made");
            vm.assertLe(spent, 100 * most, "dearer than documented");
        }
    }

    function test_what_it_does_not_know_reverts() public {
        assertReverts("", "nothing");
        assertReverts(abi.encode(0, 0), "two words");
        assertReverts(abi.encode(3, 0, 1), "no such op");
    }
}
