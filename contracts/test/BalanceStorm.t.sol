// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {OperationTest} from "./OperationTest.sol";
import {vm} from "./Vm.sol";

contract BalanceStormTest is OperationTest {
    uint256 private constant HOLDERS = 100;
    uint256 private constant COLD_SLOAD_GAS = 2_100;
    uint256 private constant WARM_CALL_GAS = 100;

    address private token;

    function setUp() public {
        storm = vm.deployCode("BalanceStorm.yul:BalanceStorm");
        token = vm.deployCode("Token.sol:Token");
        for (uint256 i = 0; i < HOLDERS; i++) {
            vm.store(token, keccak256(abi.encode(holder(i), uint256(0))), bytes32(i * i + 5));
        }
    }

    function holder(uint256 i) private pure returns (address) {
        return address(uint160(uint256(hashOf(i))));
    }

    function head() private view returns (bytes memory) {
        return abi.encodePacked(SEED, uint256(uint160(token)));
    }

    function test_a_balance_costs_what_is_documented_held_or_not() public {
        uint256 gas = COLD_SLOAD_GAS + WARM_CALL_GAS;
        pin(head(), 0, gas, gas + 503, gas + 541);
        pin(head(), 5_000, gas, gas + 503, gas + 541);
    }

    function testFuzz_the_result_is_the_digest_of_the_balances(uint256 count) public {
        count %= HOLDERS;
        uint256 expected = 0;
        for (uint256 i = 0; i < count; i++) {
            expected = digest(expected, i * i + 5);
        }
        vm.assertEq(run(ranged(head(), 0, count)), expected, "digest");
        vm.assertEq(run(head()), 0, "no range");
    }

    function test_a_token_that_fails_or_is_none_reverts() public {
        bytes memory none = abi.encodePacked(SEED, uint256(0xdead));
        assertReverts(ranged(none, 0, 1), "no token");
        bytes memory failing = abi.encodePacked(SEED, uint256(uint160(address(this))));
        assertReverts(ranged(failing, 0, 9), "a token that reverts");
        assertReverts("", "nothing");
        assertReverts(abi.encodePacked(SEED, uint256(1), uint256(1)), "half a pair");
    }
}
