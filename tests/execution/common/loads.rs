//! The texts of the loads that every variant is run on.

/// The texts of loads that are no storms, in which transactions meet in every way.
pub(crate) const MEETING_LOADS: &[&str] = &[
    "kind = \"transfers\"\npattern = \"a-to-b\"",
    "kind = \"transfers\"\npattern = \"a-to-a\"",
    "kind = \"transfers\"\npattern = \"a-to-many\"",
    "kind = \"transfers\"\npattern = \"many-to-a\"",
    "kind = \"transfers\"\npattern = \"fresh\"",
    "kind = \"erc20\"\npattern = \"a-to-b\"\nholders = 20",
    "kind = \"erc20\"\npattern = \"a-to-a\"",
    "kind = \"erc20\"\npattern = \"a-to-many\"",
    "kind = \"erc20\"\npattern = \"many-to-a\"",
    "kind = \"erc20\"\npattern = \"fresh\"",
    "kind = \"one-slot\"\nwork = 3",
    "kind = \"amm\"\npairs = 3\nhot = 0.5",
    "kind = \"amm\"\npairs = 9\nhot = 0.0\npair_zipf = 1.5",
    "kind = \"erc721\"",
    "kind = \"nft-mint\"",
    "kind = \"airdrop\"\nto = \"fresh\"\nrecipients = 4",
    "kind = \"airdrop\"\nto = \"holders\"\nrecipients = 9",
    "kind = \"deploy\"\ncode = 100\ncalls = 2",
    "kind = \"deploy\"\nby = \"create2\"\ncode = 100\ncalls = 1",
    "kind = \"delegate\"\nauthorities = 8\ndelegations = 2\ncalls = 2",
    "kind = \"compute\"\nwork = \"keccak\"\nrounds = 50",
    "kind = \"compute\"\nwork = \"modexp\"\nrounds = 20",
    "kind = \"compute\"\nwork = \"pairing\"\nrounds = 1",
    "kind = \"compute\"\nwork = \"loop\"\nrounds = 500",
    "kind = \"logs\"\ntopics = 4\nlogs = 20",
];

/// The texts of loads whose transactions depend on each other by shape.
pub(crate) const SHAPED_LOADS: &[&str] = &[
    "kind = \"dapps\"\ndapps = 3\nresources = 2\nhome = 0.8\nwork = 5",
    "kind = \"dapps\"\ndapps = 3\nper_user = \"published\"\nwork = 5",
    "kind = \"chains\"\nwork = 3",
    "kind = \"chains\"\nwork = 3\nconflict = 0.5\nlengths = [1, 2, 5]\norder = \"interleaved\"",
    "kind = \"chains\"\nwork = 3\nhotspots = 2\ntouch = \"first\"",
    "kind = \"chains\"\nwork = 3\nshape = \"relay\"\norder = \"together\"\nlengths = [7]",
    "kind = \"chains\"\nwork = 3\nshape = \"tree\"\nthrough = \"account\"\nlengths = [9]",
    "kind = \"chains\"\nwork = 3\nshape = \"star\"\nthrough = \"account\"\ntouch = \"first\"",
    "kind = \"chains\"\nwork = 3\nthrough = \"account\"\nhotspots = 1",
    "kind = \"non-conflicting\"",
    "kind = \"non-conflicting\"\nsupply = true",
];

/// The texts of storms beside plain reads.
pub(crate) const OTHER_STORMS: &[&str] = &[
    "kind = \"sstore-storm\"\nop = \"create\"",
    "kind = \"sstore-storm\"\nop = \"update\"\ncontracts = 3",
    "kind = \"sstore-storm\"\nop = \"clear\"",
    "kind = \"sstore-storm\"\nop = \"no-op\"",
    "kind = \"prefetch-miss\"\nkeys = \"keccak\"",
    "kind = \"prefetch-miss\"\nkeys = \"chase\"",
    "kind = \"balance-storm\"",
    "kind = \"contract-chase\"\ncontracts = 400",
    "kind = \"sload-storm\"\norder = \"descending\"\ncontracts = 3",
    "kind = \"sload-storm\"\norder = \"ascending\"\noverlap = \"all\"",
    "kind = \"sload-storm\"\nkeys = \"weyl\"\ncalldata = 1.0",
    "kind = \"sload-storm\"\nkeys = \"weyl\"\ncalldata = 0.5\ncalldata_byte = \"zero\"",
    "kind = \"account-storm\"\nop = \"balance\"\naccounts = 5_000",
    "kind = \"account-storm\"\nop = \"code-hash\"\naccounts = 9\ntarget = \"absent\"",
    "kind = \"account-storm\"\nop = \"code-copy\"\naccounts = 5_000\ntarget = \"contracts\"\ncodes = 50",
    "kind = \"account-storm\"\nop = \"call\"\naccounts = 5_000\ntarget = \"contracts\"\ncodes = 50",
    "kind = \"account-storm\"\nop = \"call\"\naccounts = 5_000\ntarget = \"absent\"",
];
