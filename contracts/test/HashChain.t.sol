// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OperationTest} from "./OperationTest.sol";
import {vm} from "./Vm.sol";

contract HashChainTest is OperationTest {
    uint256 private constant HASH_GAS_LEAST = 83;
    uint256 private constant HASH_GAS_MAX = 84;
    uint256 private constant SLOT_GAS = 5_000; // cold, and updated
    uint256 private constant OWN_GAS_MAX = 200;

    function setUp() public {
        storm = vm.deployCode("HashChain.yul:HashChain");
    }

    function test_slot_0_begins_with_1_and_grows_by_the_hash_that_count_says() public {
        vm.assertEq(uint256(vm.load(storm, 0)), 1, "slot 0 when deployed");
        uint256 hash = 1;
        uint256 sum = 1;
        for (uint256 count = 0; count < 5; count++) {
            unchecked {
                sum += hash;
            }
            vm.assertEq(run(abi.encode(count)), sum, "result");
            vm.assertEq(uint256(vm.load(storm, 0)), sum, "slot 0");
            hash = uint256(keccak256(abi.encode(hash)));
        }
    }

    function test_a_hash_costs_what_is_documented() public {
        vm.cool(storm);
        uint256 few = gasOf(abi.encode(uint256(100)));
        vm.cool(storm);
        uint256 many = gasOf(abi.encode(uint256(1_100)));
        emit log_named_decimal_uint("gas of a hash", (many - few) / 10, 2);
        vm.assertGe(many - few, 1_000 * HASH_GAS_LEAST, "too cheap");
        vm.assertLe(many - few, 1_000 * HASH_GAS_MAX, "dearer than documented");
        vm.cool(storm);
        run(abi.encode(uint256(0)));
        uint256 none = vm.lastCallGas().gasTotalUsed;
        vm.assertLe(none, SLOT_GAS + OWN_GAS_MAX, "dearer than documented beside its hashes");
    }

    function test_calldata_of_another_length_reverts() public {
        assertReverts("", "nothing");
        assertReverts(abi.encode(1, 2), "two words");
    }
}
