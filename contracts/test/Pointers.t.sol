// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OperationTest} from "./OperationTest.sol";
import {vm} from "./Vm.sol";

/// The contracts that decide where the next transaction reads.
contract PointersTest is OperationTest {
    uint256 private constant COLD_SLOT_GAS = 2_100;
    uint256 private constant UPDATE_GAS = 2_900; // of a slot that is warm
    uint256 private constant COLD_ACCOUNT_GAS = 2_600;
    uint256 private constant OWN_GAS_MAX = 600;
    uint256 private constant STORM_GAS_MAX = 400; // a storm's without its reads
    uint256 private constant LENGTH = 300;

    address private reader;
    address private chaser;
    address private chain;

    function setUp() public {
        reader = vm.deployCode("KeccakStorm.yul:KeccakStorm");
        chaser = vm.deployCode("ChaseStorm.yul:ChaseStorm");
        storm = vm.deployCode("RangePointer.yul:RangePointer");
        chain = vm.deployCode("ChainPointer.yul:ChainPointer");
        vm.store(storm, 0, bytes32(uint256(1)));
        vm.store(chain, 0, hashOf(0));
        for (uint256 i = 0; i < LENGTH; i++) {
            vm.store(reader, hashOf(i), bytes32(i * i + 1));
            vm.store(chaser, hashOf(i), hashOf(i + 1));
        }
    }

    function test_ranges_follow_each_other_and_only_the_pointer_says_where() public {
        bytes memory data = abi.encodePacked(SEED, uint256(uint160(reader)), uint256(70));
        for (uint256 call = 0; call < 3; call++) {
            vm.record();
            uint256 result = run(data);
            (bytes32[] memory read,) = vm.accesses(reader);
            vm.assertEq(read.length, 70, "reads");
            uint256 expected = 0;
            for (uint256 i = 0; i < 70; i++) {
                uint256 at = 70 * call + i;
                vm.assertEq(uint256(read[i]), uint256(hashOf(at)), "key");
                expected = digest(expected, at * at + 1);
            }
            vm.assertEq(result, expected, "result");
            vm.assertEq(uint256(vm.load(storm, 0)), 1 + 70 * (call + 1), "pointer");
        }
    }

    function test_a_list_goes_on_where_the_call_before_stopped() public {
        storm = chain;
        for (uint256 call = 1; call < 4; call++) {
            uint256 result = run(abi.encodePacked(uint256(uint160(chaser)), uint256(70)));
            vm.assertEq(result, uint256(hashOf(70 * call)), "last key");
            vm.assertEq(uint256(vm.load(chain, 0)), result, "pointer");
        }
    }

    function test_a_pointer_that_does_not_move_costs_a_slot_a_call_and_little_more() public {
        checkOwn(0, COLD_SLOT_GAS + COLD_ACCOUNT_GAS);
    }

    function test_a_pointer_that_moves_costs_an_update_besides() public {
        checkOwn(1, COLD_SLOT_GAS + COLD_ACCOUNT_GAS + UPDATE_GAS + COLD_SLOT_GAS);
    }

    function checkOwn(uint256 count, uint256 least) private {
        uint256 spent = gasOf(abi.encodePacked(SEED, uint256(uint160(reader)), count));
        vm.assertGe(spent, least, "too cheap: not cold, or not made");
        vm.assertLe(spent, least + OWN_GAS_MAX + STORM_GAS_MAX, "dearer than documented");
    }

    function test_a_storm_that_fails_or_is_none_reverts_and_leaves_the_pointer() public {
        address[2] memory none = [address(0xdead), address(this)];
        for (uint256 i = 0; i < 2; i++) {
            assertReverts(abi.encodePacked(SEED, uint256(uint160(none[i])), uint256(5)), "range");
            vm.assertEq(uint256(vm.load(storm, 0)), 1, "pointer");
        }
        assertReverts(abi.encodePacked(SEED, uint256(uint160(reader))), "no count");
        storm = chain;
        for (uint256 i = 0; i < 2; i++) {
            assertReverts(abi.encodePacked(uint256(uint160(none[i])), uint256(5)), "chain");
            vm.assertEq(uint256(vm.load(chain, 0)), uint256(hashOf(0)), "pointer");
        }
        assertReverts(abi.encodePacked(uint256(uint160(chaser))), "no count");
        assertReverts(abi.encodePacked(uint256(uint160(chaser)), LENGTH + 1), "beyond the end");
    }
}
