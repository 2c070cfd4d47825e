module stress/geth-fill

go 1.25.0

require (
	github.com/ethereum/go-ethereum v1.17.8
	github.com/holiman/uint256 v1.3.2
)
