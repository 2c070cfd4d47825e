// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {RangeStormTest} from "./RangeStormTest.sol";

contract KeccakStormTest is RangeStormTest {
    function artifact() internal pure override returns (string memory) {
        return "KeccakStorm.yul:KeccakStorm";
    }

    function gasPerSlotMax() internal pure override returns (uint256) {
        return 2_175;
    }

    function gasPerRestSlotMax() internal pure override returns (uint256) {
        return 2_236;
    }

    function slotsPerTx() internal pure override returns (uint256) {
        return 7_705;
    }

    function keyAt(uint256 seed, uint256 i) internal pure override returns (uint256) {
        return uint256(keccak256(abi.encode(seed, i)));
    }
}
