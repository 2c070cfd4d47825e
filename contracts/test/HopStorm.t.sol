// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OperationTest} from "./OperationTest.sol";
import {vm} from "./Vm.sol";

contract HopStormTest is OperationTest {
    uint256 private constant CONTRACTS = 64;
    uint256 private constant LENGTH = 3 * CONTRACTS; // of the chain, which has no end in the state
    uint256 private constant COLD_ACCOUNT_GAS = 2_600;
    uint256 private constant COLD_SLOAD_GAS = 2_100;

    function setUp() public {
        storm = vm.deployCode("HopStorm.yul:HopStorm");
        bytes memory code = vm.deployCode("HopTarget.yul:HopTarget").code;
        for (uint256 place = 0; place < CONTRACTS; place++) {
            vm.etch(contractOf(place), code);
        }
        for (uint256 i = 0; i < LENGTH; i++) {
            vm.store(contractOf(i), keyOf(i), keyOf(i + 1));
        }
    }

    function contractOf(uint256 i) private pure returns (address) {
        return address(uint160(uint256(keccak256(abi.encode("contract", i % CONTRACTS)))));
    }

    function keyOf(uint256 i) private pure returns (bytes32) {
        return bytes32(bytes12(hashOf(i))) | bytes32(uint256(uint160(contractOf(i))));
    }

    function following(uint256 i, uint256 count) private pure returns (bytes memory) {
        return abi.encodePacked(keyOf(i), count);
    }

    function test_a_hop_costs_a_cold_account_and_a_cold_slot_and_little_more() public {
        uint256 least = COLD_ACCOUNT_GAS + COLD_SLOAD_GAS;
        // Stretches of the chain that nothing has touched.
        gasOf(following(0, 1)); // memory grows once
        uint256 few = gasOf(following(1, BLOCK));
        uint256 blocks = gasOf(following(10, 5 * BLOCK)) - few;
        uint256 one = gasOf(following(50, 1));
        uint256 rest = gasOf(following(51, BLOCK - 1)) - one;
        emit log_named_decimal_uint("gas in blocks", blocks * 100 / (4 * BLOCK), 2);
        emit log_named_decimal_uint("gas in the rest", rest * 100 / (BLOCK - 2), 2);
        vm.assertGe(blocks, 4 * BLOCK * least, "too cheap: not cold, or not made");
        vm.assertLe(blocks, 4 * BLOCK * (least + 67), "dearer than documented");
        vm.assertGe(rest, (BLOCK - 2) * least, "rest too cheap: not cold, or not made");
        vm.assertLe(rest, (BLOCK - 2) * (least + 105), "rest dearer than documented");
    }

    function test_a_contract_met_twice_is_warm_the_second_time_and_its_slot_is_not() public {
        uint256 first = gasOf(following(0, BLOCK));
        uint256 second = gasOf(following(CONTRACTS, BLOCK));
        vm.assertEq(first - second, BLOCK * (COLD_ACCOUNT_GAS - 100), "the accounts alone");
    }

    function test_every_count_asks_each_contract_for_the_key_that_the_one_before_gave() public {
        for (uint256 count = 0; count <= 2 * BLOCK + 1; count++) {
            vm.record();
            vm.assertEq(run(following(5, count)), uint256(keyOf(5 + count)), "last value");
            for (uint256 i = 0; i < CONTRACTS; i++) {
                (bytes32[] memory read,) = vm.accesses(contractOf(5 + i));
                vm.assertEq(read.length, i < count ? 1 : 0, "reads of a contract");
                if (i < count) vm.assertEq(uint256(read[0]), uint256(keyOf(5 + i)), "key");
            }
        }
    }

    function testFuzz_a_chain_broken_anywhere_reverts(uint256 count, uint256 broken) public {
        count = 1 + count % (LENGTH - 1);
        broken %= count;
        vm.store(contractOf(broken), keyOf(broken), 0);
        assertReverts(following(0, count), "a value of 0 passed");
        // An account without code answers nothing.
        vm.store(contractOf(broken), keyOf(broken), bytes32(uint256(0xdead)));
        if (broken + 1 < count) assertReverts(following(0, count), "no contract passed");
        // One that reverts answers nothing either.
        bytes32 failing = bytes32(uint256(uint160(address(this))));
        vm.store(contractOf(broken), keyOf(broken), failing);
        if (broken + 1 < count) assertReverts(following(0, count), "a failing contract passed");
        run(following(0, broken)); // what precedes the break is sound
    }

    function test_calldata_that_is_not_a_key_and_a_count_reverts() public {
        assertReverts("", "nothing");
        assertReverts(abi.encodePacked(keyOf(0)), "no count");
        assertReverts(abi.encodePacked(keyOf(0), uint256(1), uint8(0)), "a byte too many");
        assertReverts(abi.encodePacked(uint256(0), uint256(0)), "key 0, no hop");
        storm = contractOf(0);
        vm.assertEq(run(abi.encodePacked(keyOf(0))), uint256(keyOf(1)), "a slot");
        assertReverts("", "no key");
        assertReverts(abi.encodePacked(keyOf(0), uint8(0)), "a byte after the key");
    }
}
