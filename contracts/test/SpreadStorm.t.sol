// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OperationTest} from "./OperationTest.sol";
import {vm} from "./Vm.sol";

contract SpreadStormTest is OperationTest {
    uint256 private constant CONTRACTS = 100;
    uint256 private constant SLOT = 9;
    uint256 private constant COLD_ACCOUNT_GAS = 2_600;

    function setUp() public {
        storm = vm.deployCode("SpreadStorm.yul:SpreadStorm");
        bytes memory code = vm.deployCode("SpreadTarget.yul:SpreadTarget").code;
        for (uint256 i = 0; i < CONTRACTS; i++) {
            vm.etch(contractOf(i), code);
            vm.store(contractOf(i), bytes32(SLOT), bytes32(i + 1));
        }
    }

    function contractOf(uint256 i) private pure returns (address) {
        return address(uint160(uint256(hashOf(i))));
    }

    function head(uint256 slot, uint256 value) private pure returns (bytes memory) {
        return abi.encodePacked(SEED, slot, value);
    }

    // Osaka: 22,100 for 0 to x; 5,000 for x to y and for x to 0 (EIP-2929, EIP-2200).
    function test_a_create_costs_what_is_documented() public {
        uint256 least = COLD_ACCOUNT_GAS + 22_100;
        pin(head(SLOT + 1, 7), 0, least, least + 122, least + 170);
    }

    function test_an_update_costs_what_is_documented() public {
        uint256 least = COLD_ACCOUNT_GAS + 5_000;
        pin(head(SLOT, 777), 0, least, least + 122, least + 170);
    }

    function test_a_clear_costs_what_is_documented() public {
        uint256 least = COLD_ACCOUNT_GAS + 5_000;
        pin(head(SLOT, 0), 0, least, least + 122, least + 170);
    }

    function testFuzz_exactly_the_contracts_of_the_ranges_write_the_slot(
        uint256 value,
        uint256 start,
        uint256 count,
        uint256 other
    ) public {
        count %= 3 * BLOCK;
        start %= CONTRACTS - count;
        other %= CONTRACTS;
        vm.record();
        bytes memory data = abi.encodePacked(head(SLOT, value), start, count, other, uint256(1));
        (bool ok, bytes memory result) = storm.call(data);
        vm.assertTrue(ok, "the storm failed");
        vm.assertEq(result.length, 0, "bytes returned");
        for (uint256 i = 0; i < CONTRACTS; i++) {
            (, bytes32[] memory written) = vm.accesses(contractOf(i));
            uint256 times = (start <= i && i < start + count ? 1 : 0) + (i == other ? 1 : 0);
            vm.assertEq(written.length, times, "writes of a contract");
            if (times > 0) vm.assertEq(uint256(written[0]), SLOT, "key");
            uint256 expected = times > 0 ? value : i + 1;
            vm.assertEq(uint256(vm.load(contractOf(i), bytes32(SLOT))), expected, "value");
        }
    }

    function testFuzz_a_call_that_fails_reverts_all(uint256 count, uint256 failing) public {
        count = 1 + count % (CONTRACTS - 1);
        failing %= count;
        vm.etch(contractOf(failing), hex"fe"); // invalid
        assertReverts(ranged(head(SLOT, 7), 0, count), "a failing contract passed");
        vm.assertEq(uint256(vm.load(contractOf(count), bytes32(SLOT))), count + 1, "untouched");
    }

    function test_calldata_that_is_not_three_words_and_whole_pairs_reverts() public {
        assertReverts("", "nothing");
        assertReverts(abi.encodePacked(SEED), "no slot");
        assertReverts(abi.encodePacked(SEED, SLOT), "no value");
        assertReverts(abi.encodePacked(head(SLOT, 1), uint256(1)), "half a pair");
        assertReverts(abi.encodePacked(head(SLOT, 1), uint8(0)), "a byte too many");
        storm = contractOf(0);
        assertReverts(abi.encodePacked(SLOT), "a target without a value");
        assertReverts(abi.encodePacked(SLOT, uint256(1), uint8(0)), "a byte after the value");
    }
}
