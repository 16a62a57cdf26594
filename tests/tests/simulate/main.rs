//! What a policy will cost and gain, before it is swapped in.

mod command;
mod model;
mod page;
mod record;
mod repeat;
mod wins;
