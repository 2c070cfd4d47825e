// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// A pool that exchanges two tokens along x · y = k, for a fee of 0.3 % that stays in the pool.
/// Slots 0 and 1 have the tokens, slot 2 both reserves. Traders have approved the pool as a spender
/// (ERC-20).
contract Pair {
    IERC20 private token0;
    IERC20 private token1;
    uint128 private reserve0;
    uint128 private reserve1;
    bool private transient entered;

    event Swap(
        address indexed trader, bool indexed zeroForOne, uint256 amountIn, uint256 amountOut
    );
    event Sync(uint128 reserve0, uint128 reserve1);

    error Entered();
    error TooLittle(uint256 amountOut, uint256 amountOutMin);
    error NotPaid();

    function swap(bool zeroForOne, uint256 amountIn, uint256 amountOutMin)
        external
        returns (uint256 amountOut)
    {
        if (entered) revert Entered();
        entered = true;
        (IERC20 tokenIn, IERC20 tokenOut) = zeroForOne ? (token0, token1) : (token1, token0);
        (uint256 reserveIn, uint256 reserveOut) =
            zeroForOne ? (reserve0, reserve1) : (reserve1, reserve0);
        uint256 taxed = amountIn * 997;
        amountOut = taxed * reserveOut / (reserveIn * 1000 + taxed);
        if (amountOut < amountOutMin) revert TooLittle(amountOut, amountOutMin);
        update(zeroForOne, reserveIn + amountIn, reserveOut - amountOut);
        if (!tokenIn.transferFrom(msg.sender, address(this), amountIn)) revert NotPaid();
        if (!tokenOut.transfer(msg.sender, amountOut)) revert NotPaid();
        emit Swap(msg.sender, zeroForOne, amountIn, amountOut);
        entered = false;
    }

    function update(bool zeroForOne, uint256 reserveIn, uint256 reserveOut) private {
        // The cast to uint128 would truncate a larger sum. The other reserve only falls.
        require(reserveIn <= type(uint128).max);
        (uint256 first, uint256 second) =
            zeroForOne ? (reserveIn, reserveOut) : (reserveOut, reserveIn);
        reserve0 = uint128(first);
        reserve1 = uint128(second);
        emit Sync(uint128(first), uint128(second));
    }
}
