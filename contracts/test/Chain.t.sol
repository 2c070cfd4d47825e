// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Chain} from "../src/Chain.sol";
import {vm} from "./Vm.sol";

contract ChainTest {
    uint256 private constant READ_GAS = 2_100; // EIP-2929
    uint256 private constant WRITE_GAS = 2_900; // EIP-3529
    uint256 private constant VALUE_GAS = 9_000 - 2_300; // the stipend comes back
    uint256 private constant ACCOUNT_GAS = 2_600; // EIP-2929
    uint256 private constant REST_GAS_MAX = 1_700;
    uint256 private constant HASH_GAS = 36; // KECCAK256 of a word
    uint256 private constant HASH_GAS_MAX = 250;

    event log_named_uint(string name, uint256 value);

    Chain private chain;

    function setUp() public {
        chain = new Chain();
        for (uint256 place = 0; place < 3; place++) {
            vm.store(address(chain), keyOf(place), bytes32(place + 1));
        }
    }

    function test_a_link_costs_its_slots_and_its_work_before_or_after_them() public {
        uint256 none = gasOf(1, 1, 0, 0);
        emit log_named_uint("gas of a link of one slot", none);
        vm.assertGe(none, READ_GAS + WRITE_GAS, "too cheap: the slot is not cold, or not written");
        vm.assertLe(none, READ_GAS + WRITE_GAS + REST_GAS_MAX, "dearer than documented");
        uint256 two = gasOf(0, 1, 0, 0) - none;
        emit log_named_uint("gas of another slot", two);
        vm.assertGe(two, READ_GAS - 100, "too cheap: the other slot is not cold");
        vm.assertLe(two, READ_GAS, "dearer than documented");
        uint256 first = (gasOf(1, 1, 100, 0) - none) / 100;
        uint256 last = (gasOf(1, 1, 0, 100) - none) / 100;
        emit log_named_uint("gas per unit of work", first);
        vm.assertGe(first, HASH_GAS, "too cheap: a hash is not made");
        vm.assertLe(first, HASH_GAS_MAX, "dearer than documented");
        vm.assertEq(first, last, "work costs the same before and after");
    }

    function test_a_payment_costs_its_account_and_the_transfer() public {
        vm.cool(address(chain));
        vm.assertTrue(address(chain).code.length > 0, "no code"); // warms the account
        address taker = address(0xbeef);
        vm.deal(taker, 1);
        uint256 before = gasleft();
        chain.pay{value: 1}(taker, taker, 0, 0);
        uint256 spent = before - gasleft();
        emit log_named_uint("gas of a payment", spent);
        // Once for the call here, once for the one to the taker.
        vm.assertGe(spent, 2 * VALUE_GAS, "too cheap: nothing is paid");
        vm.assertLe(spent, 2 * VALUE_GAS + 2_300 + ACCOUNT_GAS + REST_GAS_MAX, "dearer");
        vm.assertEq(taker.balance, 2, "what was paid");
    }

    function test_a_link_is_the_hash_of_its_slots_and_its_work() public {
        bytes32 own = keccak256(abi.encode(keccak256(abi.encode(address(this)))));
        bytes32 expected = keccak256(abi.encode(keccak256(abi.encode(uint256(1), uint256(2), own))));
        vm.assertTrue(chain.step(0, 1, 1, 1) == expected, "result");
        vm.assertTrue(chain.valueOf(1) == expected, "what is returned is what is written");
        vm.assertTrue(chain.valueOf(0) == bytes32(uint256(1)), "what is read is not changed");
    }

    function test_a_link_depends_on_what_it_reads() public {
        bytes32 first = chain.step(0, 0, 0, 0);
        vm.assertTrue(chain.step(0, 0, 0, 0) != first, "the second does not see the first");
        bytes32 reader = chain.step(0, 1, 0, 0);
        chain.step(0, 0, 0, 0);
        vm.store(address(chain), keyOf(1), bytes32(uint256(2)));
        vm.assertTrue(chain.step(0, 1, 0, 0) != reader, "a reader does not see the write");
    }

    function test_a_payment_depends_on_the_balances() public {
        bytes32 first = chain.pay{value: 1}(address(1), address(0xbeef), 0, 0);
        bytes32 second = chain.pay{value: 1}(address(1), address(0xbeef), 0, 0);
        vm.assertTrue(first != second, "the second does not see the first");
    }

    function keyOf(uint256 place) private pure returns (bytes32) {
        return keccak256(abi.encode(place, uint256(0)));
    }

    function gasOf(uint256 from, uint256 to, uint256 first, uint256 last)
        private
        returns (uint256)
    {
        vm.cool(address(chain));
        vm.assertTrue(address(chain).code.length > 0, "no code"); // warms the account
        uint256 before = gasleft();
        chain.step(from, to, first, last);
        return before - gasleft();
    }
}
