mod ahead;
mod bench;
mod cold;
mod faults;
mod model;
mod tail;
mod timestamp;
