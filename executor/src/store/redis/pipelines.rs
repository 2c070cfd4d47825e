//! Connections of one thread to all nodes of a cluster, for reads and writes of rows. The commands
//! for a node are collected, and sent to the node together as a pipeline. All pipelines are sent
//! before the first answer is awaited, so the nodes work in parallel.

use std::{fmt, sync::Mutex};

use redis::{Cmd, Connection, Value};

use super::{
    cluster::Topology,
    error::{failed, fault},
};
use crate::{error::StoreError, lock::lock};

/// A function that takes an answer: the number that was given to [`NodeConnection::add`] with its
/// command, and the server's value.
pub(super) type AnswerSink<'a> = dyn FnMut(usize, Value) -> Result<(), StoreError> + 'a;

/// The connection to a node, and its pipeline.
pub(super) struct NodeConnection {
    pub(super) address: String,
    connection: Connection,
    /// Encoded commands that are not sent yet.
    out: Vec<u8>,
    /// Numbers of the commands in `out`.
    collected: Vec<usize>,
    /// Numbers of sent commands without an answer.
    sent: Vec<usize>,
}

impl NodeConnection {
    /// Adds a command. Its answer is later passed on together with `number`.
    pub(super) fn add(&mut self, command: &Cmd, number: usize) {
        command.write_packed_command(&mut self.out);
        self.collected.push(number);
    }

    pub(super) fn collected_count(&self) -> usize {
        self.collected.len()
    }

    /// Sends the collected commands.
    pub(super) fn send(&mut self) -> Result<(), StoreError> {
        if self.collected.is_empty() {
            return Ok(());
        }
        let sent = self.connection.send_packed_command(&self.out);
        sent.map_err(failed("send to", &self.address))?;
        self.out.clear();
        self.sent.append(&mut self.collected);
        Ok(())
    }

    /// Waits for the answers to all sent commands, and passes each to `sink`.
    pub(super) fn receive(&mut self, sink: &mut AnswerSink<'_>) -> Result<(), StoreError> {
        for number in self.sent.drain(..) {
            let answer = self.connection.recv_response().and_then(Value::extract_error);
            sink(number, answer.map_err(failed("hear", &self.address))?)?;
        }
        Ok(())
    }

    /// Returns whether all commands are sent and answered.
    fn is_idle(&self) -> bool {
        self.sent.is_empty() && self.collected.is_empty()
    }
}

/// Connections to all nodes in the order of the topology's nodes.
pub(super) struct NodeConnections {
    pub(super) nodes: Vec<NodeConnection>,
    /// False while answers are awaited, and after an error. After an error, late answers could be
    /// mistaken for the answers to other commands.
    is_sound: bool,
}

impl fmt::Debug for NodeConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeConnections").field("is_sound", &self.is_sound).finish_non_exhaustive()
    }
}

impl NodeConnections {
    /// Connects to all nodes.
    pub(super) fn connect(topology: &Topology) -> Result<Self, StoreError> {
        let nodes = topology.nodes().iter().map(|node| {
            Ok::<_, StoreError>(NodeConnection {
                address: node.address.clone(),
                connection: node.connect_for_sample()?,
                out: Vec::new(),
                collected: Vec::new(),
                sent: Vec::new(),
            })
        });
        Ok(Self { nodes: nodes.collect::<Result<_, _>>()?, is_sound: true })
    }

    /// Returns the connections if all nodes answer a ping, else `None`.
    fn alive(mut self) -> Option<Self> {
        self.nodes.iter_mut().for_each(|node| node.add(&redis::cmd("PING"), 0));
        self.exchange(&mut |_, _| Ok(())).is_ok().then_some(self)
    }

    /// Sends the collected commands to all nodes, and waits for all answers.
    pub(super) fn exchange(&mut self, sink: &mut AnswerSink<'_>) -> Result<(), StoreError> {
        if !self.is_sound {
            return Err(fault("read", "a connection was lost before"));
        }
        self.is_sound = false;
        self.nodes.iter_mut().try_for_each(NodeConnection::send)?;
        self.nodes.iter_mut().try_for_each(|node| node.receive(sink))?;
        self.is_sound = true;
        Ok(())
    }
}

/// Idle connections, which readers of the next sample reuse.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Vec<NodeConnections>>);

impl Pool {
    /// Returns the connections of an earlier reader, or connects to all nodes.
    pub(super) fn take(&self, topology: &Topology) -> Result<NodeConnections, StoreError> {
        let kept = lock(&self.0).pop();
        // A server may have closed an idle connection.
        match kept.and_then(NodeConnections::alive) {
            Some(connections) => Ok(connections),
            None => NodeConnections::connect(topology),
        }
    }

    /// Keeps the connections for the next reader, if all commands are answered.
    pub(super) fn put(&self, connections: NodeConnections) {
        if connections.is_sound && connections.nodes.iter().all(NodeConnection::is_idle) {
            lock(&self.0).push(connections);
        }
    }
}
