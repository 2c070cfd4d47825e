// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Pair} from "../src/Pair.sol";
import {StandardToken} from "../src/StandardToken.sol";
import {vm} from "./Vm.sol";

contract PairTest {
    uint256 private constant RESERVE = 10 ** 24;
    // The pair's three slots, of which one is written, and in each token two balances; in the one
    // that is taken an allowance too (EIP-2929, EIP-3529). Both tokens are cold.
    uint256 private constant STATE_GAS = 3 * 2_100 + 2_900 + 4 * (2_100 + 2_900) + 2_100 + 2
        * 2_600;
    // Swap, Sync, and a transfer of each token.
    uint256 private constant LOG_GAS =
        (4 * 375 + 8 * 64) + (2 * 375 + 8 * 64) + 2 * (4 * 375 + 8 * 32);
    uint256 private constant REST_GAS_MAX = 6_000;

    event log_named_uint(string name, uint256 value);

    Pair private pair;
    StandardToken private token0;
    StandardToken private token1;

    function setUp() public {
        pair = new Pair();
        (token0, token1) = (new StandardToken(), new StandardToken());
        vm.store(address(pair), 0, bytes32(uint256(uint160(address(token0)))));
        vm.store(address(pair), bytes32(uint256(1)), bytes32(uint256(uint160(address(token1)))));
        vm.store(address(pair), bytes32(uint256(2)), bytes32(RESERVE << 128 | RESERVE));
        fill(token0);
        fill(token1);
    }

    function fill(StandardToken token) private {
        for (uint256 i = 0; i < 2; i++) {
            address holder = i == 0 ? address(this) : address(pair);
            bytes32 key = keccak256(abi.encode(holder, uint256(0)));
            vm.store(address(token), key, bytes32(RESERVE));
        }
        bytes32 allowances = keccak256(abi.encode(address(this), uint256(1)));
        bytes32 key = keccak256(abi.encode(address(pair), allowances));
        vm.store(address(token), key, bytes32(type(uint256).max));
        vm.assertEq(token.balanceOf(address(pair)), RESERVE, "balances are not at slot 0");
        uint256 allowance = token.allowance(address(this), address(pair));
        vm.assertEq(allowance, type(uint256).max, "allowances are not at slot 1");
    }

    function gasOf(bool zeroForOne) private returns (uint256) {
        vm.cool(address(pair));
        vm.cool(address(token0));
        vm.cool(address(token1));
        vm.assertTrue(address(pair).code.length > 0, "no code"); // warms the account
        uint256 before = gasleft();
        pair.swap(zeroForOne, 10 ** 18, 0);
        return before - gasleft();
    }

    function check(bool zeroForOne) private {
        uint256 spent = gasOf(zeroForOne);
        emit log_named_uint("gas per swap", spent);
        vm.assertGe(spent, STATE_GAS + LOG_GAS, "too cheap: a slot is not cold, or no log");
        vm.assertLe(spent, STATE_GAS + LOG_GAS + REST_GAS_MAX, "dearer than documented");
    }

    function test_a_swap_costs_its_slots_its_logs_and_little_more() public {
        check(true);
    }

    function test_a_swap_the_other_way_costs_the_same_parts() public {
        check(false);
    }

    function test_a_swap_keeps_the_product_and_moves_what_it_says(uint96 amount) public {
        uint256 paid = uint256(amount) + 1_000;
        if (paid > RESERVE) paid = RESERVE;
        uint256 got = pair.swap(true, paid, 0);
        (uint256 x, uint256 y) = reserves();
        vm.assertEq(x, RESERVE + paid, "reserve of the first");
        vm.assertEq(y, RESERVE - got, "reserve of the second");
        vm.assertGe(x * y, RESERVE * RESERVE, "the product shrank");
        vm.assertEq(token0.balanceOf(address(pair)), x, "the pair's first");
        vm.assertEq(token1.balanceOf(address(pair)), y, "the pair's second");
        vm.assertEq(token0.balanceOf(address(this)), RESERVE - paid, "the trader's first");
        vm.assertEq(token1.balanceOf(address(this)), RESERVE + got, "the trader's second");
        // There and back costs the fee twice.
        uint256 back = pair.swap(false, got, 0);
        vm.assertLe(back * 1000, paid * 997, "the fee was not taken");
    }

    function reserves() private view returns (uint256, uint256) {
        uint256 word = uint256(vm.load(address(pair), bytes32(uint256(2))));
        return (word & type(uint128).max, word >> 128);
    }

    function test_less_than_asked_for_reverts() public {
        bytes memory input = abi.encodeCall(Pair.swap, (true, 10 ** 18, 10 ** 18));
        (bool ok,) = address(pair).call(input);
        vm.assertTrue(!ok, "a swap below its least passed");
    }
}
