// SPDX-License-Identifier: Apache-2.0

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;

/// An image of 8×8 pixels from 0 (white) to 1 (black), and the digit that it shows.
pub struct Example {
    pub image: Vec<f64>,
    pub digit: usize,
}

/// Reads the file docs/examples/go/digits/data/digits.csv.gz.
pub fn read(path: &str) -> Result<Vec<Example>, Box<dyn Error>> {
    BufReader::new(GzDecoder::new(File::open(path)?))
        .lines()
        .map(|line| parse(&line?))
        .collect()
}

fn parse(line: &str) -> Result<Example, Box<dyn Error>> {
    let (shades, digit) = line.rsplit_once(',').ok_or("a line without a comma")?;
    let image = shades
        .split(',')
        .map(|shade| Ok(shade.parse::<f64>()? / 16.0))
        .collect::<Result<_, Box<dyn Error>>>()?;
    Ok(Example {
        image,
        digit: digit.parse()?,
    })
}
