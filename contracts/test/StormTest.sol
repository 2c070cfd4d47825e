// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Digest} from "./Digest.sol";
import {vm} from "./Vm.sol";

/// What every storm owes: its gas per slot and the slots that fit in a transaction, measured on cold
/// slots (`vm.cool` before every call, so that neither isolation nor the order of the tests matters).
abstract contract StormTest is Digest {
    uint256 internal constant TX_GAS_MAX = 1 << 24; // EIP-7825
    uint256 internal constant TX_BASE_GAS = 21_000;
    uint256 internal constant COLD_SLOAD_GAS = 2_100; // EIP-2929
    uint256 internal constant CODE_MAX_BYTES = 24_576; // EIP-170
    uint256 internal constant BLOCK_SLOTS = 64; // of the unrolled loop

    // Fixed: zero bytes of calldata cost less, so another seed may shift slots per transaction by one.
    uint256 internal constant SEED = uint256(keccak256("seed"));

    event log_named_uint(string name, uint256 value);
    event log_named_decimal_uint(string name, uint256 value, uint256 decimals);

    address internal storm;
    mapping(bytes32 => bool) private seen;

    // Every test starts from the state that this leaves.
    function setUp() public {
        storm = vm.deployCode(artifact());
        prepare();
    }

    // What the contract of the test says of the storm.
    function artifact() internal pure virtual returns (string memory);
    function gasPerSlotMax() internal pure virtual returns (uint256);
    function gasPerRestSlotMax() internal pure virtual returns (uint256);
    function slotsPerTx() internal pure virtual returns (uint256);
    /// Calldata that reads `count` slots and succeeds.
    function reading(uint256 count) internal pure virtual returns (bytes memory);
    function prepare() internal virtual {}

    function test_a_slot_of_a_block_costs_a_cold_read_and_little_more() public {
        uint256 slots = 16 * BLOCK_SLOTS;
        uint256 spent = gasOf(reading(2 * slots)) - gasOf(reading(slots));
        emit log_named_decimal_uint("gas per slot in blocks", spent * 100 / slots, 2);
        vm.assertGe(spent, slots * COLD_SLOAD_GAS, "too cheap: the reads are not cold or not made");
        vm.assertLe(spent, slots * gasPerSlotMax(), "dearer than documented");
    }

    function test_a_slot_of_the_rest_costs_a_cold_read_and_a_loop() public {
        uint256 slots = BLOCK_SLOTS - 1;
        uint256 spent = gasOf(reading(slots)) - gasOf(reading(0));
        emit log_named_decimal_uint("gas per slot in the rest", spent * 100 / slots, 2);
        vm.assertGe(spent, slots * COLD_SLOAD_GAS, "too cheap: the reads are not cold or not made");
        vm.assertLe(spent, slots * gasPerRestSlotMax(), "dearer than documented");
    }

    function test_a_transaction_of_2_24_gas_reads_as_many_slots_as_documented_and_not_one_more()
        public
    {
        uint256 slots = slotsPerTx();
        vm.record();
        (bool ok,) = transact(reading(slots));
        vm.assertTrue(ok, "the documented number of slots does not fit");
        (bytes32[] memory read,) = vm.accesses(storm);
        emit log_named_uint("slots per transaction", read.length);
        vm.assertEq(read.length, slots, "reads");
        assertDistinct(read);

        (ok,) = transact(reading(slots + 1));
        vm.assertTrue(!ok, "one slot more fits too: the documented number is stale");
    }

    function test_the_code_fits_in_a_contract() public view {
        vm.assertLe(storm.code.length, CODE_MAX_BYTES, "runtime code");
    }

    /// Calls the storm with what is left of 2^24 gas after the intrinsic gas. (The floor of EIP-7623
    /// is far below what a storm burns.)
    function transact(bytes memory data) internal returns (bool ok, bytes memory result) {
        uint256 callGas = TX_GAS_MAX - TX_BASE_GAS;
        for (uint256 i = 0; i < data.length; i++) {
            callGas -= data[i] == 0 ? 4 : 16;
        }
        vm.cool(storm);
        return storm.call{gas: callGas}(data);
    }

    /// Gas of a call with every slot cold and the account warm, as a transaction finds its target: the
    /// overhead is the same for every calldata of one length.
    function gasOf(bytes memory data) internal returns (uint256) {
        vm.cool(storm);
        vm.assertTrue(storm.code.length > 0, "no code"); // warms the account
        uint256 before = gasleft();
        (bool ok,) = storm.call(data);
        uint256 spent = before - gasleft();
        vm.assertTrue(ok, "the storm failed");
        return spent;
    }

    function run(bytes memory data) internal returns (uint256) {
        (bool ok, bytes memory result) = storm.call(data);
        vm.assertTrue(ok, "the storm failed");
        vm.assertEq(result.length, 32, "bytes returned");
        return abi.decode(result, (uint256));
    }

    function assertReverts(bytes memory data, string memory reason) internal {
        (bool ok, bytes memory result) = storm.call{gas: TX_GAS_MAX}(data);
        vm.assertTrue(!ok, reason);
        vm.assertEq(result.length, 0, "bytes returned by a revert");
    }

    function assertDistinct(bytes32[] memory keys) internal {
        for (uint256 i = 0; i < keys.length; i++) {
            vm.assertTrue(!seen[keys[i]], "a slot is read twice");
            seen[keys[i]] = true;
        }
    }
}
