// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Logs} from "../src/Logs.sol";
import {vm} from "./Vm.sol";

contract LogsTest {
    uint256 private constant REST_GAS_MAX = 210;

    event log_named_uint(string name, uint256 value);

    Logs private logs;

    function setUp() public {
        logs = new Logs();
    }

    function gasOf(uint256 count, uint256 topics, uint256 size) private returns (uint256) {
        vm.assertTrue(address(logs).code.length > 0, "no code"); // warms the account
        uint256 before = gasleft();
        logs.write(count, topics, size);
        return before - gasleft();
    }

    function test_a_log_costs_its_topics_its_data_and_little_more() public {
        for (uint256 topics = 0; topics <= 4; topics++) {
            for (uint256 size = 0; size <= 1_024; size += 256) {
                uint256 few = gasOf(10, topics, size);
                uint256 spent = (gasOf(30, topics, size) - few) / 20;
                emit log_named_uint("gas per log", spent);
                uint256 least = 375 * (topics + 1) + 8 * size;
                vm.assertGe(spent, least, "too cheap: a log is not written");
                vm.assertLe(spent, least + REST_GAS_MAX, "dearer than documented");
            }
        }
    }

    function test_no_logs_are_no_logs_and_counts_make_other_results() public {
        vm.assertEq(logs.write(0, 2, 64), uint256(uint160(address(this))), "none");
        vm.assertTrue(logs.write(1, 2, 64) != logs.write(2, 2, 64), "results");
    }

    function test_five_topics_revert() public {
        (bool ok,) = address(logs).call(abi.encodeCall(Logs.write, (1, 5, 0)));
        vm.assertTrue(!ok, "five topics passed");
    }
}
