//! Generates the messages and the service of `proto/shard.proto`. Nothing beside cargo is needed: the
//! file is compiled by a library.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = protox::compile(["proto/shard.proto"], ["proto"])?;
    Ok(tonic_prost_build::configure().compile_fds(files)?)
}
