// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Nft} from "../src/Nft.sol";
import {vm} from "./Vm.sol";

contract NftTest {
    uint256 private constant WRITTEN_GAS = 2_100 + 2_900; // a slot that is not zero before or after
    uint256 private constant CREATED_GAS = 2_100 + 20_000;
    uint256 private constant LOG_GAS = 5 * 375;
    uint256 private constant REST_GAS_MAX = 2_100;

    event log_named_uint(string name, uint256 value);

    Nft private nft;

    function setUp() public {
        nft = new Nft();
        vm.store(address(nft), bytes32(uint256(6)), bytes32(uint256(100)));
        vm.store(address(nft), mapped(uint160(address(this)), 3), bytes32(uint256(5)));
        vm.store(address(nft), mapped(1, 3), bytes32(uint256(5)));
        bytes32 self = bytes32(uint256(uint160(address(this))));
        vm.store(address(nft), mapped(42, 2), self);
    }

    function mapped(uint256 key, uint256 slot) private pure returns (bytes32) {
        return keccak256(abi.encode(key, slot));
    }

    function cool() private {
        vm.cool(address(nft));
        vm.assertTrue(address(nft).code.length > 0, "no code"); // warms the account
    }

    function test_a_transfer_costs_three_slots_an_approval_a_log_and_little_more() public {
        cool();
        uint256 before = gasleft();
        nft.transferFrom(address(this), address(1), 42);
        uint256 spent = before - gasleft();
        emit log_named_uint("gas per transfer", spent);
        // The approval is cleared though there is none: a cold slot, and a write of what is there.
        uint256 least = 3 * WRITTEN_GAS + 2_200 + LOG_GAS;
        vm.assertGe(spent, least, "too cheap: a slot is not cold, or no log");
        vm.assertLe(spent, least + REST_GAS_MAX, "dearer than documented");
    }

    function test_a_mint_costs_the_counter_a_balance_a_new_slot_and_little_more() public {
        cool();
        uint256 before = gasleft();
        nft.mint();
        uint256 spent = before - gasleft();
        emit log_named_uint("gas per mint", spent);
        uint256 least = 2 * WRITTEN_GAS + CREATED_GAS + LOG_GAS;
        vm.assertGe(spent, least, "too cheap: a slot is not cold, or no log");
        vm.assertLe(spent, least + REST_GAS_MAX, "dearer than documented");
    }

    function test_every_mint_counts_one_on_and_gives_the_next_id() public {
        vm.assertEq(nft.mint(), 101, "first");
        vm.assertEq(nft.mint(), 102, "second");
        vm.assertEq(uint256(vm.load(address(nft), bytes32(uint256(6)))), 102, "the counter");
        vm.assertTrue(nft.ownerOf(102) == address(this), "owner");
        vm.assertEq(nft.balanceOf(address(this)), 7, "balance");
    }

    function test_a_transfer_moves_the_token_and_both_balances() public {
        nft.transferFrom(address(this), address(1), 42);
        vm.assertTrue(nft.ownerOf(42) == address(1), "owner");
        vm.assertEq(nft.balanceOf(address(this)), 4, "giver");
        vm.assertEq(nft.balanceOf(address(1)), 6, "taker");
    }
}
