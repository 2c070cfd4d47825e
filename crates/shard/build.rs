//! Generates the messages and the service of `proto/shard.proto`. Nothing beside cargo is needed: the
//! file is compiled by a library.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = protox::compile(["proto/shard.proto"], ["proto"])?;
    // Contents that are as they are on both sides: they are not copied into a message.
    let contents = ["Piece.bytes", "Code.bytes", "NewCode.bytes", "TxResult.output", "Log.data"];
    let builder = contents.into_iter().fold(tonic_prost_build::configure(), |builder, field| {
        builder.bytes(format!(".stress.shard.v1.{field}"))
    });
    Ok(builder.compile_fds(files)?)
}
